//! The grammar of RFC 9535, read from left to right.

use serde_json::Value;

use super::{Call, Logical, Operand, Operator, Query, Segment, Selected};
use crate::base::error::Error;
use crate::base::text::clip;

/// The longest query, in bytes.
const LONGEST: usize = 4 << 10;
/// The deepest nesting of filters and parentheses.
const DEEPEST: usize = 32;
/// The greatest whole number that every JSON reader keeps.
const MOST: i64 = (1 << 53) - 1;
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

pub(super) struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

/// The types that functions give and take.
enum Typed {
    Logical(Call),
    Value(Call),
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Parser<'t> {
        Parser {
            text,
            at: 0,
            depth: 0,
        }
    }

    pub(super) fn query(mut self) -> Result<Vec<Segment>, Error> {
        if self.text.len() > LONGEST {
            let what = format!("the JSONPath has {} bytes", self.text.len());
            return Err(Error::input(what).expected(format!("at most {LONGEST}")));
        }
        if !self.takes("$") {
            return Err(self.wrong("`$`, with which a query begins"));
        }
        let segments = self.segments()?;
        if self.rest().is_empty() {
            Ok(segments)
        } else {
            Err(self.wrong("`.`, `..`, `[`, or the end"))
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches(SPACE).len();
    }

    fn wrong(&self, expected: &str) -> Error {
        let found = match self.rest().chars().next() {
            Some(found) => format!("`{}`", found.escape_debug()),
            None => "its end".to_owned(),
        };
        let at = self.text[..self.at].chars().count() + 1;
        Error::input(format!("the JSONPath has {found} at character {at}"))
            .at(clip(self.text), None)
            .expected(expected)
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::input("the JSONPath is nested too deeply")
                .expected(format!("at most {DEEPEST} levels")));
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn segments(&mut self) -> Result<Vec<Segment>, Error> {
        let mut segments = Vec::new();
        loop {
            let before = self.at;
            self.space();
            let is_descendant = self.takes("..");
            if self.rest().starts_with('[') {
                let selectors = self.bracketed()?;
                segments.push(Segment {
                    is_descendant,
                    selectors,
                });
            } else if is_descendant || self.takes(".") {
                let selector = if self.takes("*") {
                    Selected::Wildcard
                } else {
                    Selected::Name(self.shorthand()?)
                };
                segments.push(Segment {
                    is_descendant,
                    selectors: vec![selector],
                });
            } else {
                self.at = before;
                return Ok(segments);
            }
        }
    }

    /// A name without quotes.
    fn shorthand(&mut self) -> Result<String, Error> {
        let rest = self.rest();
        let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
        if !rest.starts_with(begins) {
            return Err(self.wrong("a name or `*`"));
        }
        let end = rest.find(|c: char| !(begins(c) || c.is_ascii_digit())).unwrap_or(rest.len());
        self.at += end;
        Ok(rest[..end].to_owned())
    }

    fn bracketed(&mut self) -> Result<Vec<Selected>, Error> {
        self.takes("[");
        let mut selectors = Vec::new();
        loop {
            self.space();
            selectors.push(self.selector()?);
            self.space();
            if self.takes("]") {
                return Ok(selectors);
            }
            if !self.takes(",") {
                return Err(self.wrong("`,` or `]`"));
            }
        }
    }

    fn selector(&mut self) -> Result<Selected, Error> {
        if self.rest().starts_with(['\'', '"']) {
            return self.string().map(Selected::Name);
        }
        if self.takes("*") {
            return Ok(Selected::Wildcard);
        }
        if self.takes("?") {
            self.space();
            return self.deeper(Self::or).map(Selected::Filter);
        }
        let start = self.int()?;
        let before = self.at;
        self.space();
        if !self.takes(":") {
            self.at = before;
            let index = start
                .ok_or_else(|| self.wrong("a name in quotes, a number, `*`, `?` or a slice"))?;
            return Ok(Selected::Index(index));
        }
        self.space();
        let end = self.int()?;
        let before = self.at;
        self.space();
        if !self.takes(":") {
            self.at = before;
            return Ok(Selected::Slice(start, end, 1));
        }
        self.space();
        let step = self.int()?;
        Ok(Selected::Slice(start, end, step.unwrap_or(1)))
    }

    /// A whole number, if there is one.
    fn int(&mut self) -> Result<Option<i64>, Error> {
        let rest = self.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        let sign = rest.len() - digits.len();
        if count == 0 {
            return match sign {
                0 => Ok(None),
                _ => Err(self.wrong("a whole number")),
            };
        }
        let text = &rest[..sign + count];
        let number = text.parse::<i64>().ok().filter(|number| (-MOST..=MOST).contains(number));
        let is_plain = text == "0" || !digits.starts_with('0');
        match number.filter(|_| is_plain) {
            Some(number) => {
                self.at += text.len();
                Ok(Some(number))
            }
            None => Err(self.wrong("a whole number without leading zeros, up to 2^53 - 1")),
        }
    }

    fn string(&mut self) -> Result<String, Error> {
        let quote = if self.takes("'") { '\'' } else { '"' };
        if quote == '"' {
            self.takes("\"");
        }
        let mut text = String::new();
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err(self.wrong("a closing quote"));
            };
            if c == '\\' {
                self.at += 1;
                text.push(self.escaped(quote)?);
                continue;
            }
            if u32::from(c) < 0x20 {
                return Err(self.wrong("no control character in quotes"));
            }
            self.at += c.len_utf8();
            if c == quote {
                return Ok(text);
            }
            text.push(c);
        }
    }

    fn escaped(&mut self, quote: char) -> Result<char, Error> {
        let Some(c) = self.rest().chars().next() else {
            return Err(self.wrong("an escaped character"));
        };
        let plain = match c {
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'f' => '\u{c}',
            'r' => '\r',
            '/' | '\\' => c,
            c if c == quote => c,
            'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.wrong("an escape of JSON")),
        };
        self.at += c.len_utf8();
        Ok(plain)
    }

    fn hex(&mut self) -> Result<u32, Error> {
        let digits = self
            .rest()
            .get(..4)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let value = digits
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.wrong("four hexadecimal digits"))?;
        self.at += 4;
        Ok(value)
    }

    fn unicode(&mut self) -> Result<char, Error> {
        let first = self.hex()?;
        let value = match first {
            0xD800..=0xDBFF => {
                if !self.takes("\\u") {
                    return Err(self.wrong("the second half of a surrogate pair"));
                }
                let second = self.hex()?;
                if !(0xDC00..=0xDFFF).contains(&second) {
                    return Err(self.wrong("the second half of a surrogate pair"));
                }
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            other => other,
        };
        char::from_u32(value).ok_or_else(|| self.wrong("a character"))
    }

    fn or(&mut self) -> Result<Logical, Error> {
        let mut any = vec![self.and()?];
        loop {
            let before = self.at;
            self.space();
            if !self.takes("||") {
                self.at = before;
                break;
            }
            self.space();
            any.push(self.and()?);
        }
        Ok(match any.len() {
            1 => any.swap_remove(0),
            _ => Logical::Or(any),
        })
    }

    fn and(&mut self) -> Result<Logical, Error> {
        let mut all = vec![self.basic()?];
        loop {
            let before = self.at;
            self.space();
            if !self.takes("&&") {
                self.at = before;
                break;
            }
            self.space();
            all.push(self.basic()?);
        }
        Ok(match all.len() {
            1 => all.swap_remove(0),
            _ => Logical::And(all),
        })
    }

    fn basic(&mut self) -> Result<Logical, Error> {
        let before = self.at;
        let is_negated = self.takes("!");
        if is_negated {
            self.space();
        }
        let negated = |test| {
            if is_negated {
                Logical::Not(Box::new(test))
            } else {
                test
            }
        };
        if self.takes("(") {
            self.space();
            let test = self.deeper(Self::or)?;
            self.space();
            if !self.takes(")") {
                return Err(self.wrong("`)`, `&&` or `||`"));
            }
            return Ok(negated(test));
        }
        if self.rest().starts_with(['@', '$']) {
            let query = self.deeper(Self::inner_query)?;
            return match self.operator() {
                Some(_) if is_negated => {
                    self.at = before;
                    Err(self.wrong("parentheses around the comparison that is negated"))
                }
                Some(operator) => self.compared(self.singular(query)?, operator),
                None => Ok(negated(Logical::Exists(query))),
            };
        }
        if self.rest().starts_with(|c: char| c.is_ascii_lowercase()) && self.is_call() {
            let start = self.at;
            return match self.deeper(Self::call)? {
                Typed::Logical(call) => match self.operator() {
                    Some(_) => {
                        self.at = start;
                        Err(self.wrong("a function whose result can be compared"))
                    }
                    None => Ok(negated(Logical::Call(call))),
                },
                Typed::Value(call) => match self.operator() {
                    Some(operator) if !is_negated => {
                        self.compared(Operand::Call(Box::new(call)), operator)
                    }
                    _ => Err(self.wrong("a comparison of the function's result")),
                },
            };
        }
        if is_negated {
            return Err(self.wrong("`(`, `@`, `$` or a function"));
        }
        let left = self.literal()?;
        match self.operator() {
            Some(operator) => self.compared(Operand::Literal(left), operator),
            None => Err(self.wrong("a comparison")),
        }
    }

    fn singular(&self, query: Query) -> Result<Operand, Error> {
        if query.is_singular() {
            Ok(Operand::Singular(query))
        } else {
            Err(self.wrong("a query before it that finds one value at most"))
        }
    }

    fn compared(&mut self, left: Operand, operator: Operator) -> Result<Logical, Error> {
        self.space();
        let right = self.operand()?;
        Ok(Logical::Compare(left, operator, right))
    }

    /// The operator that follows, behind white space; without one, nothing is taken.
    fn operator(&mut self) -> Option<Operator> {
        let before = self.at;
        self.space();
        let signs = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let found = signs.into_iter().find(|(sign, _)| self.takes(sign));
        if found.is_none() {
            self.at = before;
        }
        found.map(|(_, operator)| operator)
    }

    fn inner_query(&mut self) -> Result<Query, Error> {
        let is_absolute = self.takes("$");
        if !is_absolute {
            self.takes("@");
        }
        Ok(Query {
            is_absolute,
            segments: self.segments()?,
        })
    }

    fn operand(&mut self) -> Result<Operand, Error> {
        if self.rest().starts_with(['@', '$']) {
            let query = self.deeper(Self::inner_query)?;
            return self.singular(query);
        }
        if self.rest().starts_with(|c: char| c.is_ascii_lowercase()) && self.is_call() {
            return match self.deeper(Self::call)? {
                Typed::Value(call) => Ok(Operand::Call(Box::new(call))),
                Typed::Logical(_) => Err(self.wrong("a function whose result can be compared")),
            };
        }
        self.literal().map(Operand::Literal)
    }

    fn is_call(&self) -> bool {
        let rest = self.rest();
        rest.trim_start_matches(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            .starts_with('(')
    }

    fn call(&mut self) -> Result<Typed, Error> {
        let start = self.at;
        let rest = self.rest();
        let end = rest.find('(').unwrap_or(rest.len());
        let name = &rest[..end];
        self.at += end + 1;
        self.space();
        let call = match name {
            "length" => Typed::Value(Call::Length(self.operand()?)),
            "count" => Typed::Value(Call::Count(self.argument()?)),
            "value" => Typed::Value(Call::Value(self.argument()?)),
            "match" | "search" => {
                let text = self.operand()?;
                self.space();
                if !self.takes(",") {
                    return Err(self.wrong("`,` and a pattern"));
                }
                self.space();
                let pattern = self.operand()?;
                Typed::Logical(match name {
                    "match" => Call::Match(text, pattern),
                    _ => Call::Search(text, pattern),
                })
            }
            _ => {
                self.at = start;
                return Err(
                    self.wrong("one of the functions length, count, value, match and search")
                );
            }
        };
        self.space();
        if self.takes(")") {
            Ok(call)
        } else {
            Err(self.wrong("`)`"))
        }
    }

    fn argument(&mut self) -> Result<Query, Error> {
        if self.rest().starts_with(['@', '$']) {
            self.inner_query()
        } else {
            Err(self.wrong("a query"))
        }
    }

    fn literal(&mut self) -> Result<Value, Error> {
        if self.rest().starts_with(['\'', '"']) {
            return self.string().map(Value::String);
        }
        for (word, value) in [
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("null", Value::Null),
        ] {
            let behind = self.rest().strip_prefix(word);
            if behind.is_some_and(|behind| {
                !behind.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            }) {
                self.at += word.len();
                return Ok(value);
            }
        }
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c)))
            .unwrap_or(rest.len());
        let number = Some(&rest[..end])
            .filter(|number| !number.is_empty())
            .and_then(|number| serde_json::from_str::<serde_json::Number>(number).ok());
        match number {
            Some(number) => {
                self.at += end;
                Ok(Value::Number(number))
            }
            None => Err(self.wrong("a string, a number, true, false, null, a query or a function")),
        }
    }
}
