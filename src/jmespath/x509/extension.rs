//! Extensions of certificates.

use core::net::IpAddr;
use std::collections::BTreeMap;

use crate::jmespath::url;
use crate::value::Value;

use super::der::{self, Der, constructed, context, dotted, integer, oid_numbers};
use super::{bytes, numbers, object};

/// The fields that extensions fill, with what they are without one.
pub(super) struct Fields(BTreeMap<&'static str, Value>);

/// The fields of subject alternative names and of the extensions themselves.
const COMMON: [&str; 6] =
    ["DNSNames", "EmailAddresses", "Extensions", "ExtraExtensions", "IPAddresses", "URIs"];

impl Fields {
    /// The fields of a request.
    pub(super) fn of_request() -> Self {
        Self(COMMON.iter().map(|key| (*key, Value::Null)).collect())
    }

    /// The fields of a certificate.
    pub(super) fn of_certificate() -> Self {
        let lists = [
            "AuthorityKeyId",
            "CRLDistributionPoints",
            "ExcludedDNSDomains",
            "ExcludedEmailAddresses",
            "ExcludedIPRanges",
            "ExcludedURIDomains",
            "ExtKeyUsage",
            "IssuingCertificateURL",
            "OCSPServer",
            "PermittedDNSDomains",
            "PermittedEmailAddresses",
            "PermittedIPRanges",
            "PermittedURIDomains",
            "Policies",
            "PolicyIdentifiers",
            "PolicyMappings",
            "SubjectKeyId",
            "UnhandledCriticalExtensions",
            "UnknownExtKeyUsage",
        ];
        let flags = [
            "BasicConstraintsValid",
            "InhibitAnyPolicyZero",
            "InhibitPolicyMappingZero",
            "IsCA",
            "MaxPathLenZero",
            "PermittedDNSDomainsCritical",
            "RequireExplicitPolicyZero",
        ];
        let counts =
            ["InhibitAnyPolicy", "InhibitPolicyMapping", "KeyUsage", "MaxPathLen", "RequireExplicitPolicy"];
        let mut fields = Self::of_request();
        fields.0.extend(lists.map(|key| (key, Value::Null)));
        fields.0.extend(flags.map(|key| (key, Value::Bool(false))));
        fields.0.extend(counts.map(|key| (key, Value::from(0))));
        fields
    }

    pub(super) fn into_members(self) -> BTreeMap<&'static str, Value> {
        self.0
    }

    fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some(field) = self.0.get_mut(key) {
            *field = value.into();
        }
    }

    fn push(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some(field) = self.0.get_mut(key) {
            match field.as_array_mut() {
                Some(items) => items.push(value.into()),
                None => *field = Value::array(vec![value.into()]),
            }
        }
    }

    /// Takes in one extension.
    pub(super) fn read(&mut self, oid: &[u64], critical: bool, value: &[u8]) -> Result<(), String> {
        self.push(
            "Extensions",
            object([("Critical", Value::Bool(critical)), ("Id", numbers(oid)), ("Value", bytes(value))]),
        );
        let known = match oid {
            [2, 5, 29, number] => self.standard(*number, critical, value),
            [1, 3, 6, 1, 5, 5, 7, 1, 1] => self.authority_information(value).map(|()| true),
            _ => Some(false),
        };
        match known {
            None => Err(format!("x509: invalid extension {}", dotted(oid))),
            Some(known) => {
                if critical && !known {
                    self.push("UnhandledCriticalExtensions", numbers(oid));
                }
                Ok(())
            }
        }
    }

    /// Takes in an extension of the standard; whether it is known, `None` if it can not be read.
    fn standard(&mut self, number: u64, critical: bool, value: &[u8]) -> Option<bool> {
        match number {
            14 => self.set("SubjectKeyId", bytes(Der::new(value).next_of(der::OCTET_STRING)?)),
            15 => self.set("KeyUsage", key_usage(Der::new(value).next_of(der::BIT_STRING)?)),
            17 => self.alternative_names(value)?,
            19 => self.basic_constraints(value)?,
            30 => {
                self.set("PermittedDNSDomainsCritical", critical);
                self.name_constraints(value)?;
            }
            31 => self.distribution_points(value)?,
            32 => self.policies(value)?,
            33 => self.policy_mappings(value)?,
            35 => {
                if let Some(key) = sequence(value)?.next_of(context(0)) {
                    self.set("AuthorityKeyId", bytes(key));
                }
            }
            36 => self.policy_constraints(value)?,
            37 => self.extended_key_usage(value)?,
            54 => {
                let skip = integer(Der::new(value).next_of(der::INTEGER)?)?;
                self.count("InhibitAnyPolicy", "InhibitAnyPolicyZero", skip);
            }
            _ => return Some(false),
        }
        Some(true)
    }

    fn count(&mut self, key: &'static str, zero: &'static str, count: i64) {
        self.set(key, count);
        self.set(zero, count == 0);
    }

    fn basic_constraints(&mut self, value: &[u8]) -> Option<()> {
        let mut parts = sequence(value)?;
        let is_ca = parts.next_of(der::BOOLEAN).is_some_and(|content| content != [0]);
        let length = parts.next_of(der::INTEGER).map_or(Some(-1), integer)?;
        self.set("BasicConstraintsValid", true);
        self.set("IsCA", is_ca);
        self.count("MaxPathLen", "MaxPathLenZero", length);
        Some(())
    }

    fn alternative_names(&mut self, value: &[u8]) -> Option<()> {
        let mut names = sequence(value)?;
        while !names.is_empty() {
            let (tag, content) = names.next()?;
            match tag & 0x1f {
                1 => self.push("EmailAddresses", text(content)?),
                2 => self.push("DNSNames", text(content)?),
                6 => self.push("URIs", url::object(&text(content)?).ok()?),
                7 => self.push("IPAddresses", address(content)?.to_string()),
                _ => {}
            }
        }
        Some(())
    }

    fn name_constraints(&mut self, value: &[u8]) -> Option<()> {
        const PERMITTED: [&str; 4] =
            ["PermittedDNSDomains", "PermittedEmailAddresses", "PermittedURIDomains", "PermittedIPRanges"];
        const EXCLUDED: [&str; 4] =
            ["ExcludedDNSDomains", "ExcludedEmailAddresses", "ExcludedURIDomains", "ExcludedIPRanges"];
        let mut parts = sequence(value)?;
        for (number, [domains, emails, uris, ranges]) in [(0, PERMITTED), (1, EXCLUDED)] {
            let mut trees = Der::new(parts.next_of(constructed(number)).unwrap_or_default());
            while let Some(tree) = trees.next_of(der::SEQUENCE) {
                let (tag, content) = Der::new(tree).next()?;
                match tag & 0x1f {
                    1 => self.push(emails, text(content)?),
                    2 => self.push(domains, text(content)?),
                    6 => self.push(uris, text(content)?),
                    7 => {
                        let (ip, mask) = content.split_at(content.len() / 2);
                        let ip = Value::from(address(ip)?.to_string());
                        self.push(ranges, object([("IP", ip), ("Mask", bytes(mask))]));
                    }
                    _ => {}
                }
            }
        }
        Some(())
    }

    fn distribution_points(&mut self, value: &[u8]) -> Option<()> {
        let mut points = sequence(value)?;
        while let Some(point) = points.next_of(der::SEQUENCE) {
            let Some(name) = Der::new(point).next_of(constructed(0)) else { continue };
            let Some(full) = Der::new(name).next_of(constructed(0)) else { continue };
            let mut names = Der::new(full);
            while let Some((tag, content)) = names.next() {
                if tag == context(6) {
                    self.push("CRLDistributionPoints", text(content)?);
                }
            }
        }
        Some(())
    }

    fn authority_information(&mut self, value: &[u8]) -> Option<()> {
        let mut descriptions = sequence(value)?;
        while let Some(description) = descriptions.next_of(der::SEQUENCE) {
            let mut parts = Der::new(description);
            let method = oid_numbers(parts.next_of(der::OBJECT_IDENTIFIER)?);
            let Some(location) = parts.next_of(context(6)) else { continue };
            match method.as_slice() {
                [1, 3, 6, 1, 5, 5, 7, 48, 1] => self.push("OCSPServer", text(location)?),
                [1, 3, 6, 1, 5, 5, 7, 48, 2] => self.push("IssuingCertificateURL", text(location)?),
                _ => {}
            }
        }
        Some(())
    }

    fn policies(&mut self, value: &[u8]) -> Option<()> {
        let mut policies = sequence(value)?;
        while let Some(policy) = policies.next_of(der::SEQUENCE) {
            let oid = oid_numbers(Der::new(policy).next_of(der::OBJECT_IDENTIFIER)?);
            self.push("Policies", dotted(&oid));
            self.push("PolicyIdentifiers", numbers(&oid));
        }
        Some(())
    }

    fn policy_mappings(&mut self, value: &[u8]) -> Option<()> {
        let mut mappings = sequence(value)?;
        while let Some(mapping) = mappings.next_of(der::SEQUENCE) {
            let mut parts = Der::new(mapping);
            let mut oid = || Some(Value::from(dotted(&oid_numbers(parts.next_of(der::OBJECT_IDENTIFIER)?))));
            let mapping = object([("IssuerDomainPolicy", oid()?), ("SubjectDomainPolicy", oid()?)]);
            self.push("PolicyMappings", mapping);
        }
        Some(())
    }

    fn policy_constraints(&mut self, value: &[u8]) -> Option<()> {
        let mut parts = sequence(value)?;
        if let Some(content) = parts.next_of(context(0)) {
            self.count("RequireExplicitPolicy", "RequireExplicitPolicyZero", integer(content)?);
        }
        if let Some(content) = parts.next_of(context(1)) {
            self.count("InhibitPolicyMapping", "InhibitPolicyMappingZero", integer(content)?);
        }
        Some(())
    }

    fn extended_key_usage(&mut self, value: &[u8]) -> Option<()> {
        let mut usages = sequence(value)?;
        while let Some(usage) = usages.next_of(der::OBJECT_IDENTIFIER) {
            let oid = oid_numbers(usage);
            let number = match oid.as_slice() {
                [2, 5, 29, 37, 0] => 0,
                [1, 3, 6, 1, 5, 5, 7, 3, last @ 1..=9] => i64::try_from(*last).ok()?,
                [1, 3, 6, 1, 4, 1, 311, 10, 3, 3] => 10,
                [2, 16, 840, 1, 113_730, 4, 1] => 11,
                [1, 3, 6, 1, 4, 1, 311, 2, 1, 22] => 12,
                [1, 3, 6, 1, 4, 1, 311, 61, 1, 1] => 13,
                _ => {
                    self.push("UnknownExtKeyUsage", numbers(&oid));
                    continue;
                }
            };
            self.push("ExtKeyUsage", number);
        }
        Some(())
    }
}

fn sequence(value: &[u8]) -> Option<Der<'_>> {
    Der::new(value).next_of(der::SEQUENCE).map(Der::new)
}

/// The bits of a key usage, the first as the lowest.
fn key_usage(content: &[u8]) -> i64 {
    let bits = content.get(1..).unwrap_or_default();
    let is_set = |bit: usize| bits.get(bit / 8).is_some_and(|byte| byte << (bit % 8) & 0x80 != 0);
    (0..9).filter(|bit| is_set(*bit)).map(|bit| 1 << bit).sum()
}

fn text(content: &[u8]) -> Option<String> {
    std::str::from_utf8(content).ok().filter(|text| text.is_ascii()).map(str::to_owned)
}

fn address(content: &[u8]) -> Option<IpAddr> {
    let version_4 = <[u8; 4]>::try_from(content).map(IpAddr::from);
    version_4.or_else(|_| <[u8; 16]>::try_from(content).map(IpAddr::from)).ok()
}
