//! Scripts and languages besides English, as far as terms depend on them: words that say nothing, endings, and scripts
//! that have no spaces between words.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// Words, and pairs of characters, that say nothing by themselves in German, French, Spanish, Portuguese, Russian, Hindi,
/// Arabic, Chinese, Japanese, Korean or Thai, and that are no words of English; in the order of their bytes.
#[rustfmt::skip]
const WORDS: [&str; 614] = [
    "aber", "al", "alle", "als", "antes", "ao", "aos", "aquí", "até", "au", "auch", "auf", "aus", "aux",
    "avec", "bei", "beim", "bis", "bitte", "ce", "ces", "cet", "cette", "chez", "comme", "como", "con",
    "cual", "cuando", "cuál", "cuándo", "cuánto", "cómo", "da", "damit", "dann", "dans", "das", "dass",
    "de", "dein", "deine", "del", "dela", "dele", "dem", "den", "denn", "depois", "der", "des", "desde",
    "dich", "doch", "doit", "donde", "dos", "du", "durch", "dónde", "ein", "eine", "einem", "einen",
    "einer", "eines", "el", "ela", "elas", "ele", "eles", "ella", "elle", "elles", "ellos", "em", "en",
    "entre", "er", "essa", "esse", "est", "esta", "este", "esto", "está", "están", "et", "etre", "eu",
    "eux", "fait", "foi", "fue", "für", "gegen", "gern", "gibt", "ha", "habe", "haben", "hace", "hacer",
    "hast", "hasta", "hatte", "há", "ich", "ihm", "ihn", "ihnen", "ihr", "ihre", "il", "ils", "im", "immer",
    "isso", "ist", "isto", "ja", "je", "jede", "jeden", "jeder", "jedes", "já", "kann", "kannst", "kein",
    "keine", "konnen", "können", "la", "las", "le", "les", "leur", "leurs", "lhe", "lo", "los", "lui", "ma",
    "mais", "mas", "mein", "meine", "meinem", "meinen", "meiner", "mes", "meu", "meus", "mi", "mich",
    "minha", "minhas", "mir", "mis", "moi", "mon", "muito", "muss", "muy", "más", "na", "nach", "nada",
    "nao", "nas", "ne", "nem", "ni", "nicht", "noch", "nos", "nosotros", "nossa", "nossas", "nosso",
    "nossos", "notre", "nous", "nuestra", "nuestras", "nuestro", "nuestros", "numa", "nur", "não", "ob",
    "oder", "ohne", "onde", "ou", "où", "para", "pas", "pela", "pelo", "pero", "peut", "por", "porque",
    "pourquoi", "qu", "quais", "qual", "quand", "quando", "que", "quel", "quelle", "quelles", "quels",
    "quem", "qui", "quien", "quién", "quoi", "qué", "sa", "sao", "schon", "se", "sehr", "seine", "seinen",
    "seit", "sem", "ser", "ses", "seu", "seus", "si", "sich", "sie", "sind", "sobre", "soll", "sollte",
    "sont", "su", "sua", "suas", "sur", "sus", "são", "ta", "tambem", "tambien", "también", "também", "te",
    "tem", "tengo", "tenho", "tes", "teu", "tiene", "toi", "tres", "très", "tu", "tua", "tus", "uber", "um",
    "uma", "un", "una", "unas", "und", "une", "uno", "unos", "uns", "unser", "unsere", "unter", "usted",
    "viel", "voce", "você", "vom", "von", "vor", "vos", "votre", "vous", "wann", "warum", "weil", "welche",
    "welchem", "welchen", "welcher", "welches", "wenn", "werden", "wie", "wieder", "wir", "wird", "wo",
    "wurde", "ya", "yo", "zu", "zum", "zur", "zwischen", "être", "über", "а", "без", "был", "была", "были",
    "быть", "в", "во", "вот", "все", "всё", "вы", "где", "да", "для", "до", "его", "ее", "если", "есть",
    "еще", "ещё", "её", "же", "за", "и", "из", "или", "им", "их", "к", "как", "какая", "какие", "какого",
    "какой", "когда", "кто", "ли", "мне", "мной", "мой", "моя", "мы", "на", "над", "нам", "нас", "наш",
    "наша", "не", "него", "нет", "ни", "но", "о", "об", "он", "она", "они", "оно", "от", "по", "под", "при",
    "с", "своей", "себя", "со", "так", "такой", "там", "тебе", "тебя", "то", "тоже", "только", "ты", "у",
    "уже", "чего", "чем", "что", "чтобы", "эта", "эти", "это", "этот", "я", "أن", "أنا", "أنت", "أو", "أي",
    "إذا", "إلى", "التي", "الذي", "الى", "ان", "او", "بعد", "بين", "تم", "ثم", "حتى", "حيث", "على", "عليه",
    "عن", "عند", "في", "فيه", "قبل", "قد", "كان", "كانت", "كل", "كم", "كما", "كيف", "لأن", "لا", "لدي",
    "لديه", "لديها", "لكن", "لم", "لن", "لنا", "له", "لها", "لي", "ليس", "ما", "ماذا", "متى", "مع", "من",
    "منذ", "نا", "نحن", "هذا", "هذه", "هل", "هم", "هنا", "هناك", "هو", "هي", "و", "ولا", "يا", "يتم", "يجب",
    "يكون", "يمكن", "अगर", "अपना", "अपनी", "अपने", "अब", "आप", "इस", "उस", "एक", "ऐसा", "और", "कब", "करना",
    "करने", "का", "कि", "किस", "की", "कुछ", "के", "को", "कोई", "कौन", "क्या", "गए", "गया", "गयी", "चाहिए",
    "जब", "जैसा", "जैसी", "जैसे", "जो", "तक", "तो", "था", "थी", "थे", "दे", "दो", "न", "नहीं", "ने", "पर",
    "बहुत", "भी", "मुझे", "में", "मेरा", "मेरी", "मेरे", "मैं", "मैंने", "यह", "ये", "रहा", "रही", "रहे",
    "लिए", "ले", "वह", "वाला", "वाली", "वाले", "वे", "सकता", "सकती", "सकते", "सब", "से", "हम", "हमारा",
    "हमारी", "हमारे", "हर", "ही", "हुआ", "हुई", "हुए", "हूँ", "है", "हैं", "हो", "होता", "होती", "होते",
    "होने", "ของ", "ที่", "一个", "上", "下", "个", "中", "么", "么时", "了", "什", "什么", "他们", "他的", "们", "何時", "你们",
    "你的", "可以", "吗", "吧", "呀", "呢", "啊", "嘛", "多少", "她的", "如果", "帮我", "应该", "怎么", "我们", "我的", "时候", "是什",
    "没有", "的", "着", "给我", "过", "这个", "那个", "里", "것은", "것이", "나는", "내가", "무엇", "어디", "언제", "이다", "있는", "있다",
    "하는", "한다",
];

/// The clusters of a term in a script without spaces: a letter alone, or two, stand in nearly every text.
const CLUSTERS: usize = 3;

/// Returns whether a word says nothing in a language other than English.
pub(super) fn says_nothing(word: &str) -> bool {
    WORDS.binary_search(&word).is_ok()
}

/// Stems of words of English that say nothing in another language, in the order of their letters.
const ENGLISH_TOO: [&str; 14] = [
    "con", "die", "era", "es", "hat", "man", "num", "par", "plus", "pour", "sea", "sin", "son",
    "war",
];

/// Returns whether a term, a word of English, says nothing in a language other than English.
pub(super) fn says_nothing_elsewhere(term: &str) -> bool {
    ENGLISH_TOO.binary_search(&term).is_ok()
}

/// Returns whether a character is of an alphabet that has no spaces between words: Thai, Lao, Burmese, Khmer.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF)
}

/// Returns whether a character is one of hiragana, in which Japanese writes its endings and particles.
pub(super) fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309F}')
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30FF}')
}

fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// Returns whether all letters of a word are of these.
fn is_of(word: &str, letters: std::ops::RangeInclusive<u32>) -> bool {
    word.chars().all(|c| letters.contains(&u32::from(c)))
}

/// The stem of a word that is not all ASCII: by the endings of its script where these are known, and without accents where
/// it is written in Latin letters.
pub(super) fn stem<'w>(word: &'w str, english: &Stemmer) -> Cow<'w, str> {
    let by = |algorithm| Stemmer::create(algorithm).stem(word);
    match word.chars().next().map_or(0, u32::from) {
        // It serves Ukrainian, too.
        0x400..=0x4FF if is_of(word, 0x400..=0x4FF) => by(Algorithm::Russian),
        0x600..=0x6FF if is_of(word, 0x600..=0x6FF) => by(Algorithm::Arabic),
        0x370..=0x3FF if is_of(word, 0x370..=0x3FF) => by(Algorithm::Greek),
        0x900..=0x97F => Cow::Borrowed(without_marks(word)),
        _ => {
            let folded = without_accents(word);
            if folded.len() > 2 && folded.bytes().all(|byte| byte.is_ascii_lowercase()) {
                Cow::Owned(english.stem(&folded).into_owned())
            } else if folded.is_ascii() {
                Cow::Owned(folded)
            } else {
                Cow::Borrowed(word)
            }
        }
    }
}

/// A word of Devanagari without the vowel signs at its end, which are its endings; a letter and its sign stay.
fn without_marks(word: &str) -> &str {
    let mut letters = word.char_indices().filter(|(_, c)| !is_combining_mark(*c));
    let last = letters.next_back().map_or(0, |(at, c)| at + c.len_utf8());
    if letters.next().is_some() {
        &word[..last]
    } else {
        word
    }
}

/// A word in Latin letters as who leaves out the accents writes it.
fn without_accents(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' => folded.push('d'),
            'ı' => folded.push('i'),
            c => decompose_canonical(c, |part| {
                if !is_combining_mark(part) {
                    folded.push(part);
                }
            }),
        }
    }
    folded
}

/// The runs of characters that a text has in alphabets without spaces.
fn unspaced_runs(text: &str) -> impl Iterator<Item = &str> {
    let has_any = !text.is_ascii() && text.contains(is_unspaced);
    text.split(|c| !is_unspaced(c))
        .take_while(move |_| has_any)
        .filter(|run| run.chars().any(char::is_alphanumeric))
}

/// Calls `found` for each term of a text in alphabets without spaces: three clusters side by side, a cluster being a letter
/// with its marks; and two, for a question that has no more.
pub(super) fn each_unspaced<'t>(text: &'t str, mut found: impl FnMut(&'t str)) {
    for run in unspaced_runs(text) {
        let ends = clusters(run);
        windows(run, &ends, CLUSTERS).for_each(&mut found);
        windows(run, &ends, CLUSTERS - 1).for_each(&mut found);
        if ends.len() < CLUSTERS {
            found(run);
        }
    }
}

/// As [`each_unspaced`], of a query: its longest terms alone.
pub(super) fn each_unspaced_asked<'t>(query: &'t str, mut found: impl FnMut(&'t str)) {
    for run in unspaced_runs(query) {
        let ends = clusters(run);
        if ends.len() <= CLUSTERS {
            found(run);
        } else {
            windows(run, &ends, CLUSTERS).for_each(&mut found);
        }
    }
}

/// The beginnings of a run's clusters, and its end.
fn clusters(run: &str) -> Vec<usize> {
    let starts = run.char_indices().filter(|(at, c)| *at == 0 || !is_combining_mark(*c));
    starts.map(|(at, _)| at).chain([run.len()]).collect()
}

/// The parts of a run that have so many clusters.
fn windows<'t>(run: &'t str, ends: &[usize], count: usize) -> impl Iterator<Item = &'t str> {
    ends.windows(count + 1).map(move |ends| &run[ends[0]..ends[count]])
}

/// Returns whether a term is one character that is no ASCII.
pub(super) fn is_one_character(term: &str) -> bool {
    let mut characters = term.chars();
    characters.next().is_some_and(|c| !c.is_ascii()) && characters.next().is_none()
}

/// The ideographs of a run that are likely to be words: those alone among kana, and in a run of ideographs the last, where
/// Chinese has what it speaks of.
pub(super) fn words_of_one_character(run: &str) -> impl Iterator<Item = &str> {
    let last = run
        .char_indices()
        .next_back()
        .filter(|(at, _)| *at > 0 && run.chars().all(is_ideograph))
        .map(|(at, _)| &run[at..]);
    words_among_kana(run).chain(last)
}

/// The ideographs of a run that stand alone among kana: words of Japanese.
fn words_among_kana(run: &str) -> impl Iterator<Item = &str> {
    run.char_indices().filter_map(|(at, c)| {
        let until = at + c.len_utf8();
        let before = run[..at].chars().next_back();
        let after = run[until..].chars().next();
        let is_kana_or_end = |beside: Option<char>| beside.is_none_or(is_kana);
        let stands_among =
            before.or(after).is_some() && is_kana_or_end(before) && is_kana_or_end(after);
        (is_ideograph(c) && stands_among).then(|| &run[at..until])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_say_nothing_are_in_order() {
        assert!(WORDS.is_sorted_by(|one, other| one < other));
        assert!(WORDS.iter().all(|word| says_nothing(word)));
        assert!(ENGLISH_TOO.iter().all(|word| says_nothing_elsewhere(word)));
        for english in [
            "war", "die", "hat", "man", "pour", "son", "plus", "no", "os",
        ] {
            assert!(!says_nothing(english), "{english}");
        }
    }

    #[test]
    fn a_word_is_found_with_other_endings_and_without_its_accents() {
        let english = Stemmer::create(Algorithm::English);
        for (one, other) in [
            ("größe", "grosse"),
            ("réunions", "reunion"),
            ("насосами", "насосов"),
            ("किताबें", "किताब"),
            ("المضخات", "مضخة"),
        ] {
            let [one, other] = [one, other].map(|word| {
                if word.is_ascii() {
                    english.stem(word)
                } else {
                    stem(word, &english)
                }
            });
            assert_eq!(one, other);
        }
        assert_eq!(stem("या", &english), "या");
    }

    #[test]
    fn alphabets_without_spaces_are_cut_into_clusters() {
        let terms = |text: &'static str| {
            let (mut all, mut asked) = (Vec::new(), Vec::new());
            each_unspaced(text, |term| all.push(term));
            each_unspaced_asked(text, |term| asked.push(term));
            (all, asked)
        };
        let (all, asked) = terms("น้ำมัน v2");
        assert_eq!(all, ["น้ำมั", "ำมัน", "น้ำ", "ำมั", "มัน"]);
        assert_eq!(asked, ["น้ำมั", "ำมัน"]);
        assert_eq!(terms("ชา").1, ["ชา"]);
        assert!(terms("ชา").0.contains(&"ชา"));
        assert_eq!(terms("pump").0, [""; 0]);
    }

    #[test]
    fn an_ideograph_among_kana_or_at_the_end_is_a_word() {
        let found = |run| words_of_one_character(run).collect::<Vec<_>>();
        assert_eq!(found("魚を使ったレシピ"), ["魚", "使"]);
        assert_eq!(found("東京で食べた"), ["食"]);
        assert_eq!(found("可以有鱼"), ["鱼"]);
        assert_eq!(found("魚"), [""; 0]);
    }
}
