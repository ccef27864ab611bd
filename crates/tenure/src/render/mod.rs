//! One interpreter per wire format. They only lay out pieces that are final and priced.

pub(crate) mod openai_chat;
pub(crate) mod text;
