//! Rules for who may use the server: a token, the names of the server, and the pages whose scripts may.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::{HeaderMap, HeaderValue, header};
use subtle::ConstantTimeEq;

/// Rules for clients: the token, the server's names, and pages whose scripts may ask.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The secret that clients have to send, if there is one: as `Authorization: Bearer …` or `?token=…`.
    pub token: Option<String>,
    /// Origins of pages whose scripts may use the server, such as `https://example.org`, besides its own page. `*`: all.
    pub origins: Vec<String>,
    /// Names by which clients may call the server, besides addresses and `localhost`. `*`: any. A page whose name leads to
    /// this server's address counts as the server's own page; this check keeps it out.
    pub names: Vec<String>,
}

/// All origins, or all names.
const ALL: &str = "*";

/// The reason why a client may not use the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    #[error("expected the token of this server, as 'Authorization: Bearer TOKEN' or as ?token=TOKEN")]
    NoToken,
    #[error("the token is not that of this server")]
    WrongToken,
    #[error("web pages of {0} are not allowed to use this server")]
    Origin(String),
    #[error("this server is not called '{0}' (--host-names lists its names)")]
    Name(String),
}

impl Access {
    /// Checks the name by which a client calls the server. (A client that names none is no browser.)
    pub fn check_name(&self, headers: &HeaderMap) -> Result<(), Denial> {
        for host in headers.get_all(header::HOST) {
            let host = String::from_utf8_lossy(host.as_bytes());
            if !self.is_name(without_port(&host)) {
                return Err(Denial::Name(host.chars().take(100).collect()));
            }
        }
        Ok(())
    }

    fn is_name(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_address = match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
            None => name.parse::<IpAddr>().is_ok(),
        };
        is_address
            || name == "localhost"
            || name.ends_with(".localhost")
            || self.names.iter().any(|listed| listed == ALL || listed.eq_ignore_ascii_case(&name))
    }

    /// The origins that a browser may be told of in an answer to this request. `None` unless the request comes from a page
    /// that [`origins`](Self::origins) lists.
    pub fn shared_with(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        if self.origins.iter().any(|listed| listed == ALL) {
            return Some(HeaderValue::from_static(ALL));
        }
        self.origins.iter().any(|listed| listed.as_bytes() == origin.as_bytes()).then(|| origin.clone())
    }

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
    pub fn check_origin(&self, headers: &HeaderMap) -> Result<(), Denial> {
        let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
        let is_own = text(header::HOST).is_some_and(|host| {
            origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(&host))
        });
        if is_own || self.shared_with(headers).is_some() {
            return Ok(());
        }
        Err(Denial::Origin(origin.chars().take(100).collect()))
    }
}

/// The name in a `Host` header.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
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
        let access = Access { origins: vec!["https://a.example".to_owned()], ..Access::default() };
        assert_eq!(access.check(&from("http://localhost:2700"), None), Ok(()));
        assert_eq!(access.check(&from("https://a.example"), None), Ok(()));
        for other in ["http://localhost:2701", "https://b.example", "null"] {
            assert_eq!(access.check(&from(other), None), Err(Denial::Origin(other.to_owned())));
        }
        assert_eq!(access.shared_with(&from("https://a.example")).unwrap(), "https://a.example");
        assert_eq!(access.shared_with(&from("http://localhost:2700")), None);
        let all = Access { origins: vec!["*".to_owned()], ..Access::default() };
        assert_eq!(all.check(&from("null"), None), Ok(()));
        assert_eq!(all.shared_with(&from("null")).unwrap(), "*");
        assert_eq!(all.shared_with(&HeaderMap::new()), None);
    }

    #[test]
    fn other_names_than_the_servers_are_refused() {
        let access = Access { names: vec!["speech.example".to_owned()], ..Access::default() };
        let called = |host: &str| access.check_name(&headers(&[(header::HOST, host)]));
        for host in [
            "localhost",
            "LocalHost:2700",
            "localhost.",
            "a.localhost:1",
            "127.0.0.1:2700",
            "192.168.0.3",
            "[::1]:2700",
            "[::1]",
            "speech.example",
            "Speech.Example:443",
        ] {
            assert_eq!(called(host), Ok(()), "{host}");
        }
        for host in [
            "evil.example:2700",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "notlocalhost",
            "a.speech.example",
            "[evil]:80",
            "",
        ] {
            assert_eq!(called(host), Err(Denial::Name(host.to_owned())), "{host}");
        }
        assert_eq!(access.check_name(&HeaderMap::new()), Ok(()));
        let all = Access { names: vec!["*".to_owned()], ..Access::default() };
        assert_eq!(all.check_name(&headers(&[(header::HOST, "any")])), Ok(()));
    }
}
