//! Shares of network addresses.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The client behind an address. Networks give a client 2⁶⁴ addresses of IPv6, so these count as one.
pub fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            Ipv6Addr::from_bits(network).into()
        }
        address => address,
    }
}

type Counts = HashMap<IpAddr, usize>;

/// Counts of things that clients have, such as connections.
#[derive(Clone, Default)]
pub struct Shares(Arc<Mutex<Counts>>);

/// A thing that a client has, until this is dropped.
pub struct Share {
    shares: Shares,
    client: IpAddr,
}

impl Shares {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more of this address. `None` if its client has `most` already.
    pub fn take(&self, address: IpAddr, most: Option<usize>) -> Option<Share> {
        let client = client(address);
        let mut counts = self.counts();
        let there = counts.get(&client).copied().unwrap_or(0);
        if most.is_some_and(|most| there >= most) {
            return None;
        }
        counts.insert(client, there + 1);
        Some(Share { shares: self.clone(), client })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.shares.counts();
        if let Some(count) = counts.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_its_share_and_gives_it_back() {
        let shares = Shares::default();
        let [here, there]: [IpAddr; 2] = ["127.0.0.1", "10.0.0.1"].map(|text| text.parse().unwrap());
        let first = shares.take(here, Some(1)).unwrap();
        assert!(shares.take(here, Some(1)).is_none());
        assert!(shares.take(here, None).is_some());
        assert!(shares.take(there, Some(1)).is_some());
        drop(first);
        assert!(shares.counts().is_empty());
    }

    #[test]
    fn addresses_of_one_client() {
        let client = |text: &str| client(text.parse().unwrap()).to_string();
        assert_eq!(client("::ffff:10.0.0.1"), "10.0.0.1");
        assert_eq!(client("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(client("2001:db8:1:2::9"), "2001:db8:1:2::");
        assert_eq!(client("2001:db8:1:3::9"), "2001:db8:1:3::");
    }
}
