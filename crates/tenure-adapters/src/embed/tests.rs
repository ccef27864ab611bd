//! Vectors of the table, compared with those of its training, and the inputs that it refuses.

use proptest::prelude::*;
use serde::Deserialize;
use tenure::ErrorKind;
use tenure::num::Score;

use super::*;

fn table() -> &'static StaticTable {
    StaticTable::builtin().unwrap()
}

fn bytes() -> Vec<u8> {
    include_bytes!("../../../../models/static/table.bin").to_vec()
}

/// Python's reading of a text (`models/static/golden.py`).
#[derive(Deserialize)]
struct Golden {
    text: String,
    pieces: Vec<u32>,
    vector: Vec<i8>,
    similarity: u32,
}

#[test]
fn python_gives_the_same_pieces_and_bytes() {
    let golden = include_str!("../../tests/fixtures/embed/golden.json");
    let golden: Vec<Golden> = serde_json::from_str(golden).unwrap();
    let first = table().embed("What did Caroline research?");
    for row in golden {
        assert_eq!(table().piece_numbers(&row.text), row.pieces, "{}", row.text);
        let vector = table().embed(&row.text);
        assert_eq!(vector.components().as_slice(), row.vector, "{}", row.text);
        let similarity = first.similarity(&vector);
        assert_eq!(similarity.millionths(), row.similarity, "{}", row.text);
    }
}

#[test]
fn related_texts_are_nearer_than_others() {
    for [text, near, far] in [
        [
            "How do I bake bread?",
            "a recipe for a loaf",
            "the compiler stops with an error",
        ],
        [
            "She broke her leg while skiing",
            "an injury on the slopes",
            "quarterly tax return",
        ],
        [
            "rotate the signing key",
            "replace cryptographic credentials",
            "walk the dog in the park",
        ],
    ] {
        let [text, near, far] = [text, near, far].map(|text| table().embed(text));
        assert!(text.similarity(&near) > text.similarity(&far));
    }
}

#[test]
fn a_text_without_words_resembles_nothing() {
    let word = table().embed("word");
    for text in ["", "   \n", "\u{0}\u{1}\u{200b}", &"x".repeat(1000)] {
        let none = table().embed(text);
        assert!(none.is_zero(), "{text:?}");
        assert_eq!(none.similarity(&word), Score::ZERO);
        assert_eq!(none.similarity(&none), Score::ZERO);
    }
    assert!(word.similarity(&word) >= Score::from_millionths(999_999));
}

#[test]
fn other_scripts_are_split_into_pieces() {
    for (text, least) in [
        // The vocabulary knows the ideographs that its English texts had, and every kana and jamo.
        ("今天天气很好，我们去公园散步吧。", 5),
        ("東京で寿司を食べました。", 5),
        ("الطقس جميل اليوم في القاهرة", 20),
        ("आज मौसम बहुत अच्छा है", 5),
        ("오늘은 날씨가 좋다", 3),
        ("Сегодня хорошая погода", 3),
        ("Η Αθήνα είναι ωραία", 4),
    ] {
        let found = table().piece_numbers(text).len();
        assert!(found >= least, "{text}: {found}");
        // They were fitted to nothing.
        assert!(table().embed(text).is_zero());
    }
    // Ideographs stand alone, whatever stands beside them.
    assert_eq!(
        table().piece_numbers("東京"),
        table().piece_numbers("東 京")
    );
    // Accents and case make no difference, composed or not.
    for other in ["CAFÉ", "cafe\u{301}", "café"] {
        assert_eq!(table().embed(other), table().embed("cafe"));
    }
}

#[test]
fn a_megabyte_is_summed_without_overflow() {
    let sentence = "The dog sleeps in the garden. ";
    let long = sentence.repeat((1 << 20) / sentence.len());
    let similarity = table().embed(&long).similarity(&table().embed(sentence));
    assert!(
        similarity >= Score::from_millionths(999_900),
        "{similarity}"
    );
    let word = "a".repeat(1 << 20);
    assert!(table().embed(&word).is_zero());
}

#[test]
fn a_damaged_table_is_refused() {
    let good = bytes();
    assert!(StaticTable::from_bytes(good.clone()).is_ok());
    let refused = |bytes: Vec<u8>| {
        let error = StaticTable::from_bytes(bytes).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Input);
        error.what
    };
    assert!(refused(Vec::new()).contains("too short"));
    assert!(refused(good[..good.len() - 1].to_vec()).contains("digest"));
    let changed = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        refused(bytes)
    };
    assert!(changed(0).contains("first bytes"));
    assert!(changed(8).contains("version"));
    assert!(changed(16).contains("dimensions"));
    for at in [24, 55, 56, good.len() / 2, good.len() - 1] {
        assert!(changed(at).contains("digest"), "{at}");
    }
    // The counts are outside the digest, and are held against the length.
    assert!(changed(12).contains("length") && changed(20).contains("length"));
}

/// An independent implementation over the same vocabulary.
fn oracle() -> tokenizers::Tokenizer {
    let bytes = bytes();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (count, length) = (number(12), number(20));
    let lengths = &bytes[56 + 4 * count..][..count];
    let mut text = std::str::from_utf8(&bytes[56 + 5 * count..][..length]).unwrap();
    let mut vocabulary = serde_json::Map::new();
    vocabulary.insert("[UNK]".to_owned(), count.into());
    for (id, length) in lengths.iter().enumerate() {
        let (piece, rest) = text.split_at(usize::from(length & 0x7f));
        let mark = if length >> 7 == 1 { "##" } else { "" };
        vocabulary.insert(format!("{mark}{piece}"), id.into());
        text = rest;
    }
    let described = serde_json::json!({
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": true,
            "strip_accents": true,
            "lowercase": true,
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": LONGEST_WORD,
            "vocab": vocabulary,
        },
    });
    described.to_string().parse().unwrap()
}

#[test]
fn an_independent_tokenizer_agrees() {
    let oracle = oracle();
    let unknown = table().pieces() as u32;
    // Its tables of Unicode are older: newer characters, of which no piece is made, would differ.
    let known = "[a-zA-Z0-9 \\n.,;:!?'\"()/_#@À-ɏΑ-Ρά-ώА-яא-תء-غ०-९अ-हा-्あ-んア-ン一-鿋가-힣€½…—“”\u{200b}\u{ad}\u{301}]{0,60}";
    proptest!(|(text in known)| {
        let mut expected = oracle.encode_fast(&*text, false).unwrap().get_ids().to_vec();
        expected.retain(|id| *id != unknown);
        prop_assert_eq!(table().piece_numbers(&text), expected);
    });
}

proptest! {
    #[test]
    fn any_text_has_a_vector(text in any::<String>()) {
        let vector = table().embed(&text);
        let largest = vector.components().iter().map(|c| c.unsigned_abs()).max();
        prop_assert!(matches!(largest, Some(0 | 63 | 127)));
        prop_assert_eq!(&vector, &table().embed(&text));
    }

    #[test]
    fn similarity_is_symmetric(a in any::<String>(), b in any::<String>()) {
        let (a, b) = (table().embed(&a), table().embed(&b));
        prop_assert_eq!(a.similarity(&b), b.similarity(&a));
    }
}

#[test]
fn scripts_that_the_table_does_not_know_have_no_direction() {
    let table = StaticTable::builtin().unwrap();
    for text in [
        "ปั๊มรั่ว",
        "ፓምፕ",
        "ចំរុះ",
        "ဗမာ",
        "ポンプ",
        "насос течёт, см. API",
    ] {
        assert!(table.embed(text).is_zero(), "{text}");
    }
    for text in [
        "the pump leaks",
        "the API of the насос leaks",
        "PB7",
        "café",
    ] {
        assert!(!table.embed(text).is_zero(), "{text}");
    }
    for (text, most) in [
        ("Bestell mir bitte den üblichen Tee", 63),
        ("Les sauvegardes tournent chaque nuit", 63),
        ("The backups run every night", 127),
    ] {
        let vector = table.embed(text);
        let greatest = vector.components().iter().map(|component| component.unsigned_abs()).max();
        assert_eq!(greatest, Some(most), "{text}");
    }
    // What stands among known words in letters that are not known turns them nowhere.
    assert_eq!(
        table.embed("the pump насос leaks"),
        table.embed("the pump leaks")
    );
}
