//! The form of the CMU dictionary: comments, and words with the number of a pronunciation, such as `a(2)`.

use std::collections::HashSet;

/// The begin of a comment behind phones.
const COMMENT: &str = "#";

/// True if a line whose first field is `word` is a comment as a whole.
pub fn is_comment(word: &str) -> bool {
    word.starts_with(";;;")
}

/// Removes the comments behind phones, such as `# place, danish`. Returns their number. Each line is the fields of one. (Some lexicons
/// have a phone `#`: so a comment has only names that are no phones elsewhere.)
pub fn remove_comments<'l, 'a: 'l>(lines: impl Iterator<Item = &'l mut Vec<&'a str>>) -> usize {
    let mut lines: Vec<&mut Vec<&str>> = lines.collect();
    if !lines.iter().any(|fields| fields.contains(&COMMENT)) {
        return 0;
    }
    let others = lines.iter().filter(|fields| !fields.contains(&COMMENT));
    let phones: HashSet<&str> = others.flat_map(|fields| fields.iter().skip(1).copied()).collect();
    let mut count = 0;
    for fields in &mut lines {
        let begin = fields.iter().skip(2).position(|&field| field == COMMENT).map(|place| place + 2);
        if let Some(begin) = begin
            && begin + 1 < fields.len()
            && !fields[begin + 1..].iter().any(|name| phones.contains(name))
        {
            fields.truncate(begin);
            count += 1;
        }
    }
    count
}

/// Returns the word without the number of its pronunciation: `a` of `a(2)`.
pub fn without_number(word: &str) -> &str {
    let stem = word.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    match stem {
        Some((stem, digits))
            if !stem.is_empty() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) =>
        {
            stem
        }
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_phones_with_their_sign_stay() {
        let rest = |text: &'static str| {
            let mut lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
            let count = remove_comments(lines.iter_mut());
            let lines: Vec<String> = lines.iter().map(|fields| fields.join(" ")).collect();
            (count, lines.join("\n"))
        };
        assert_eq!(rest("aalto AA1 L # name, finnish\nb B"), (1, "aalto AA1 L\nb B".to_owned()));
        // The phone `#` between others, at the end, and alone.
        for text in ["ab A # B\nb B", "ab A #\nb B", "ab #\nb B", "# A B\nb B"] {
            assert_eq!(rest(text), (0, text.to_owned()));
        }
    }

    #[test]
    fn numbers_of_pronunciations() {
        let words = ["a(2)", "a(12)", "(2)", "a()", "a(x)", "a(2", "a"];
        assert_eq!(words.map(without_number), ["a", "a", "(2)", "a()", "a(x)", "a(2", "a"]);
    }
}
