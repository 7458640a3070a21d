//! Rules for who may use the server: a token, and the pages whose scripts may.

use axum::http::{HeaderMap, header};
use subtle::ConstantTimeEq;

/// Rules for clients: the token, and pages whose scripts may ask.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The secret that clients have to send, if there is one: as `Authorization: Bearer …` or `?token=…`.
    pub token: Option<String>,
    /// Origins of pages whose scripts may use the server, such as `https://example.org`, besides its own page. `*`: all.
    pub origins: Vec<String>,
}

/// The reason why a client may not use the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    #[error("expected the token of this server, as 'Authorization: Bearer TOKEN' or as ?token=TOKEN")]
    NoToken,
    #[error("the token is not that of this server")]
    WrongToken,
    #[error("web pages of {0} are not allowed to use this server")]
    Origin(String),
}

impl Access {
    /// Checks headers, and the token of the address, if it has one.
    pub fn check(&self, headers: &HeaderMap, token: Option<&str>) -> Result<(), Denial> {
        self.check_origin(headers)?;
        let Some(expected) = &self.token else { return Ok(()) };
        let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let found = header.and_then(|value| value.strip_prefix("Bearer ")).or(token);
        match found {
            None => Err(Denial::NoToken),
            // (The time of a comparison tells the length of the token at most.)
            Some(found) if bool::from(found.as_bytes().ct_eq(expected.as_bytes())) => Ok(()),
            Some(_) => Err(Denial::WrongToken),
        }
    }

    /// A browser sends the origin of the page whose script asks. Programs send none.
    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Denial> {
        let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
        let is_own = text(header::HOST).is_some_and(|host| {
            origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(&host))
        });
        if is_own || self.origins.iter().any(|allowed| allowed == "*" || *allowed == origin) {
            return Ok(());
        }
        Err(Denial::Origin(origin.chars().take(100).collect()))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_token_is_asked_for_if_there_is_one() {
        let access = Access { token: Some("secret".to_owned()), ..Access::default() };
        let bearer = |token: &str| headers(&[(header::AUTHORIZATION, token)]);
        assert_eq!(access.check(&HeaderMap::new(), None), Err(Denial::NoToken));
        assert_eq!(access.check(&HeaderMap::new(), Some("secre")), Err(Denial::WrongToken));
        assert_eq!(access.check(&HeaderMap::new(), Some("secret")), Ok(()));
        assert_eq!(access.check(&bearer("Bearer secret"), None), Ok(()));
        assert_eq!(access.check(&bearer("Bearer Secret"), None), Err(Denial::WrongToken));
        assert_eq!(access.check(&bearer("Basic secret"), None), Err(Denial::NoToken));
        assert_eq!(Access::default().check(&HeaderMap::new(), None), Ok(()));
    }

    #[test]
    fn other_pages_need_a_permission() {
        let from = |origin: &str| headers(&[(header::HOST, "localhost:2700"), (header::ORIGIN, origin)]);
        let access = Access { token: None, origins: vec!["https://a.example".to_owned()] };
        assert_eq!(access.check(&from("http://localhost:2700"), None), Ok(()));
        assert_eq!(access.check(&from("https://a.example"), None), Ok(()));
        for other in ["http://localhost:2701", "https://b.example", "null"] {
            assert_eq!(access.check(&from(other), None), Err(Denial::Origin(other.to_owned())));
        }
        let all = Access { token: None, origins: vec!["*".to_owned()] };
        assert_eq!(all.check(&from("null"), None), Ok(()));
    }
}
