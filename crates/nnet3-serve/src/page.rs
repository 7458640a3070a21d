//! The page for people, in one file.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

const PAGE: &str = include_str!("page.html");

/// The text between two tags.
fn within<'p>(page: &'p str, begin: &str, end: &str) -> &'p str {
    page.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map_or("", |(inside, _)| inside)
}

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

/// The policy: the page's own style and script, its own server, the recorder's script in memory, and nothing else.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let mut policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      connect-src 'self'; img-src data:"
        .to_owned();
    // (Writing to a string does not fail.)
    let _always = write!(
        policy,
        "; style-src {}; script-src {} blob:",
        source(within(PAGE, "<style>", "</style>")),
        source(within(PAGE, "<script>", "</script>"))
    );
    policy
});

/// Returns the page.
pub async fn page() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, PAGE).into_response()
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

    #[test]
    fn a_page_in_one_file() {
        assert!(within(PAGE, "<style>", "</style>").len() > 100);
        assert!(within(PAGE, "<script>", "</script>").len() > 100);
        for outside in ["http://", "https://", "src=", "@import", "innerHTML", " style=\"", " onclick"] {
            assert!(!PAGE.contains(outside), "{outside}");
        }
        assert!(POLICY.contains("default-src 'none'") && !POLICY.contains("unsafe"), "{}", *POLICY);
    }
}
