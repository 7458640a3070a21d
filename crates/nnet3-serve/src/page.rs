//! The page for people. The browser gets one file, which is put together here.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

const BODY: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = concat!(
    include_str!("page/transcript.js"),
    include_str!("page/subtitles.js"),
    include_str!("page/sound.js"),
    include_str!("page/words.js"),
    include_str!("page/session.js"),
    include_str!("page/page.js"),
);

/// The pages of servers without and with a speaker model.
static PAGES: LazyLock<[String; 2]> = LazyLock::new(|| {
    let page = BODY.replace("/* style */", STYLE).replace("/* script */", SCRIPT);
    let with_speakers = page.replacen("data-speakers=\"false\"", "data-speakers=\"true\"", 1);
    [page, with_speakers]
});

/// The source of a policy that allows this text alone.
fn source(text: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())))
}

/// Base64 with padding (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if i > group.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

/// The policy: the page's own style and script, its own server, in memory the recorder's script and sound to play, and nothing
/// else.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let mut policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      connect-src 'self'; img-src data:; media-src blob:"
        .to_owned();
    // (Writing to a string does not fail.)
    let _always = write!(policy, "; style-src {}; script-src {} blob:", source(STYLE), source(SCRIPT));
    policy
});

/// The attribute of the page with the model's rate in Hz.
fn data_rate(rate: f32) -> String {
    format!("data-rate=\"{rate}\"")
}

/// Returns the page for a model of this rate (in Hz).
pub fn page(has_speakers: bool, rate: f32) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    let page = PAGES[usize::from(has_speakers)].replacen(&data_rate(16000.0), &data_rate(rate), 1);
    (headers, page).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_standard() {
        let of = |text: &str| base64(text.as_bytes());
        for (text, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(of(text), expected);
        }
        // The source of an empty script, as in the standard's example of browsers.
        assert_eq!(source(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }

    /// The text between two tags.
    fn within<'p>(page: &'p str, begin: &str, end: &str) -> &'p str {
        page.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map_or("", |(inside, _)| inside)
    }

    #[test]
    fn a_page_in_one_file() {
        for (page, has_speakers) in PAGES.iter().zip([false, true]) {
            // The policy allows these two, so they must be whole.
            assert_eq!(within(page, "<style>", "</style>"), STYLE);
            assert_eq!(within(page, "<script>", "</script>"), SCRIPT);
            assert_eq!(page.matches("<script").count() + page.matches("<style").count(), 2);
            let body = format!("<body data-speakers=\"{has_speakers}\" {}>", data_rate(16000.0));
            assert!(page.contains(&body));
            for outside in
                ["http://", "https://", "src=", "@import", "innerHTML", " style=\"", " onclick", "/* s"]
            {
                assert!(!page.contains(outside), "{outside}");
            }
        }
        assert!(POLICY.contains("default-src 'none'") && !POLICY.contains("unsafe"), "{}", *POLICY);
    }
}
