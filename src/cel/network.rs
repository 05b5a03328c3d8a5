//! Addresses and networks.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

use super::error::EvalError;

/// A network: an address, which may have bits after the prefix, and the length of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address as written.
    pub address: IpAddr,
    /// The length of the prefix.
    pub bits: u8,
}

/// An address; no zones, and no IPv4 address inside of an IPv6 address.
pub(super) fn address(text: &str) -> Result<IpAddr, EvalError> {
    let address: IpAddr = text.parse().map_err(|_| {
        EvalError::failed(format!("IP Address \"{text}\" parse error during conversion from string"))
    })?;
    if is_mapped(address) {
        return Err(EvalError::failed(format!("IPv4-mapped IPv6 address \"{text}\" is not allowed")));
    }
    Ok(address)
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

impl Network {
    /// Parses `address/bits`.
    pub(super) fn parse(text: &str) -> Result<Self, EvalError> {
        let error = || {
            EvalError::failed(format!(
                "network address parse error during conversion from string: netip.ParsePrefix(\"{text}\")"
            ))
        };
        let (address, bits) = text.rsplit_once('/').ok_or_else(error)?;
        let address: IpAddr = address.parse().map_err(|_| error())?;
        let is_number = bits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || (bits.len() > 1 && bits.starts_with('0')) {
            return Err(error());
        }
        let bits: u8 = bits.parse().map_err(|_| error())?;
        if bits > width(address) {
            return Err(error());
        }
        if is_mapped(address) {
            return Err(EvalError::failed(format!("IPv4-mapped IPv6 address \"{text}\" is not allowed")));
        }
        Ok(Self { address, bits })
    }

    /// Without the bits after the prefix.
    pub(super) fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Self { address, bits: self.bits }
    }

    pub(super) fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && Self { address, bits: self.bits }.masked().address == self.masked().address
    }

    pub(super) fn contains_network(self, other: Self) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

const fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

pub(super) fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

pub(super) fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}

pub(super) fn is_global_unicast(address: IpAddr) -> bool {
    !(address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || is_link_local_unicast(address)
        || address == IpAddr::V4(Ipv4Addr::BROADCAST))
}
