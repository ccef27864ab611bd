//! The examples of the crate, run as they are.

#[path = "../examples/hello.rs"]
mod hello;
#[path = "../examples/own_tokenizer.rs"]
mod own_tokenizer;

#[test]
fn the_examples_do_what_they_say() {
    hello::main().unwrap();
    own_tokenizer::main().unwrap();
}
