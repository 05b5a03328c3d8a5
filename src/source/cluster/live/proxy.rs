//! The proxy of a server.

use std::net::IpAddr;

use http::Uri;

use super::{ClusterError, ClusterResult};

/// The proxy for a server: that of the kubeconfig, else that of the environment unless `NO_PROXY` contains the server.
/// `variable` reads the environment.
pub(super) fn proxy(
    named: Option<&str>,
    server: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> ClusterResult<Option<Uri>> {
    let first = |names: [&str; 2]| names.into_iter().find_map(&variable).filter(|text| !text.is_empty());
    let names = if server.scheme_str() == Some("http") {
        ["HTTP_PROXY", "http_proxy"]
    } else {
        ["HTTPS_PROXY", "https_proxy"]
    };
    let address = match named {
        Some(named) => named.to_owned(),
        None => {
            let excepted = first(["NO_PROXY", "no_proxy"]).unwrap_or_default();
            match first(names) {
                Some(address) if !is_excepted(server, &excepted) => address,
                _ => return Ok(None),
            }
        }
    };
    let address = if address.contains("://") { address } else { format!("http://{address}") };
    // It may contain a password, so it is not shown.
    address.parse().map(Some).map_err(|_| ClusterError::Config("the proxy's address is none".into()))
}

/// Whether a server has no proxy: it is in `NO_PROXY`, or the machine itself.
fn is_excepted(server: &Uri, list: &str) -> bool {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']).to_lowercase();
    let port = server.port_u16().unwrap_or(if server.scheme_str() == Some("http") { 80 } else { 443 });
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        let entry = entry.to_lowercase();
        if entry == "*" {
            return true;
        }
        if let (Some((network, bits)), Some(address)) = (entry.split_once('/'), address) {
            return network
                .parse()
                .ok()
                .zip(bits.parse().ok())
                .is_some_and(|(network, bits)| contains(network, bits, address));
        }
        let (name, entry_port) = match entry.rsplit_once(':') {
            Some((name, digits)) if !name.contains(':') => match digits.parse::<u16>() {
                Ok(port) => (name, Some(port)),
                Err(_) => return false,
            },
            _ => (&*entry, None),
        };
        if entry_port.is_some_and(|entry_port| entry_port != port) {
            return false;
        }
        if let Some(address) = address {
            return name.parse() == Ok(address);
        }
        let name = name.strip_prefix('*').unwrap_or(name);
        match name.strip_prefix('.') {
            Some(_) => host.ends_with(name),
            None => host == name || host.strip_suffix(name).is_some_and(|front| front.ends_with('.')),
        }
    })
}

/// Whether a network contains an address.
fn contains(network: IpAddr, bits: u32, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        (IpAddr::V6(network), IpAddr::V6(address)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(server: &str, named: Option<&str>, environment: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        proxy(named, &server.parse().unwrap(), variable).unwrap().map(|uri| uri.to_string())
    }

    #[test]
    fn the_kubeconfig_wins_over_the_environment() {
        let environment = [("HTTPS_PROXY", "http://env:3128"), ("NO_PROXY", "*")];
        let named = Some("socks5://named:1080");
        assert_eq!(
            through("https://api.example.com", named, &environment).as_deref(),
            Some("socks5://named:1080/")
        );
        assert_eq!(through("https://api.example.com", None, &environment), None);
        let environment = [("https_proxy", "env:3128"), ("HTTP_PROXY", "http://plain:1")];
        assert_eq!(
            through("https://api.example.com", None, &environment).as_deref(),
            Some("http://env:3128/")
        );
        assert_eq!(through("http://api.example.com", None, &environment).as_deref(), Some("http://plain:1/"));
        assert_eq!(through("https://127.0.0.1:6443", None, &environment), None);
        assert_eq!(through("https://localhost", None, &environment), None);
    }

    #[test]
    fn servers_are_excepted_by_name_domain_network_and_port() {
        for (server, list, excepted) in [
            ("https://api.example.com", "example.com", true),
            ("https://api.example.com", ".example.com", true),
            ("https://example.com", ".example.com", false),
            ("https://api.badexample.com", "example.com", false),
            ("https://api.example.com:6443", "api.example.com:6443", true),
            ("https://api.example.com", "api.example.com:6443", false),
            ("https://10.1.2.3", "a.b, 10.0.0.0/8", true),
            ("https://11.1.2.3", "10.0.0.0/8", false),
            ("https://10.1.2.3", "10.1.2.3", true),
            ("https://[fd00::1]", "fd00::/8", true),
            ("https://10.1.2.3", "10.0.0.0/99", false),
        ] {
            let environment = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", list)];
            assert_eq!(through(server, None, &environment).is_none(), excepted, "{server} {list}");
        }
    }
}
