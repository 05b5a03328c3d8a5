//! Certificate extensions.

use core::net::IpAddr;
use std::collections::BTreeMap;

use x509_parser::asn1_rs::{FromDer as _, Oid};
use x509_parser::extensions::{
    AuthorityInfoAccess, CRLDistributionPoints, DistributionPointName, GeneralName, GeneralSubtree,
    ParsedExtension, X509Extension,
};

use crate::formats::url::Url;
use crate::value::Value;

use super::{X509Error, arcs, bytes, numbers, object};

/// The fields that extensions set, with their defaults.
pub(super) struct Fields(BTreeMap<&'static str, Value>);

/// The fields of certificates and requests.
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
            "ExtKeyUsage",
            "IssuingCertificateURL",
            "OCSPServer",
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
        fields.0.extend(lists.into_iter().chain(PERMITTED).chain(EXCLUDED).map(|key| (key, Value::Null)));
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

    /// Adds one extension.
    pub(super) fn read(&mut self, extension: &X509Extension<'_>) -> Result<(), X509Error> {
        let oid = arcs(&extension.oid);
        let critical = Value::Bool(extension.critical);
        self.push(
            "Extensions",
            object([("Critical", critical), ("Id", numbers(&oid)), ("Value", bytes(extension.value))]),
        );
        let Some(is_known) = self.fields_of(extension) else {
            return Err(X509Error::Extension(extension.oid.to_id_string()));
        };
        if extension.critical && !is_known {
            self.push("UnhandledCriticalExtensions", numbers(&oid));
        }
        Ok(())
    }

    /// Sets the fields of an extension. Returns whether Go supports it; `None` if it is malformed.
    fn fields_of(&mut self, extension: &X509Extension<'_>) -> Option<bool> {
        match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(key) => self.set("SubjectKeyId", bytes(key.0)),
            ParsedExtension::KeyUsage(usage) => self.set("KeyUsage", i64::from(usage.flags)),
            ParsedExtension::SubjectAlternativeName(names) => {
                self.alternative_names(&names.general_names)?;
            }
            ParsedExtension::BasicConstraints(constraints) => {
                self.set("BasicConstraintsValid", true);
                self.set("IsCA", constraints.ca);
                let length = constraints.path_len_constraint.map_or(-1, i64::from);
                self.count("MaxPathLen", "MaxPathLenZero", length);
            }
            ParsedExtension::NameConstraints(constraints) => {
                self.set("PermittedDNSDomainsCritical", extension.critical);
                let [permitted, excluded] = [&constraints.permitted_subtrees, &constraints.excluded_subtrees];
                self.name_constraints(PERMITTED, permitted.as_deref().unwrap_or_default())?;
                self.name_constraints(EXCLUDED, excluded.as_deref().unwrap_or_default())?;
            }
            ParsedExtension::CRLDistributionPoints(points) => self.distribution_points(points)?,
            ParsedExtension::CertificatePolicies(policies) => {
                for policy in policies {
                    self.push("Policies", policy.policy_id.to_id_string());
                    self.push("PolicyIdentifiers", numbers(&arcs(&policy.policy_id)));
                }
            }
            ParsedExtension::PolicyMappings(mappings) => {
                for mapping in &mappings.mappings {
                    let [issuer, subject] = [&mapping.issuer_domain_policy, &mapping.subject_domain_policy]
                        .map(|oid| Value::from(oid.to_id_string()));
                    let domains = object([("IssuerDomainPolicy", issuer), ("SubjectDomainPolicy", subject)]);
                    self.push("PolicyMappings", domains);
                }
            }
            ParsedExtension::AuthorityKeyIdentifier(authority) => {
                if let Some(key) = &authority.key_identifier {
                    self.set("AuthorityKeyId", bytes(key.0));
                }
            }
            ParsedExtension::PolicyConstraints(constraints) => {
                if let Some(skip) = constraints.require_explicit_policy {
                    self.count("RequireExplicitPolicy", "RequireExplicitPolicyZero", skip.into());
                }
                if let Some(skip) = constraints.inhibit_policy_mapping {
                    self.count("InhibitPolicyMapping", "InhibitPolicyMappingZero", skip.into());
                }
            }
            ParsedExtension::ExtendedKeyUsage(_) => self.extended_key_usage(extension.value)?,
            ParsedExtension::InhibitAnyPolicy(inhibit) => {
                self.count("InhibitAnyPolicy", "InhibitAnyPolicyZero", inhibit.skip_certs.into());
            }
            ParsedExtension::AuthorityInfoAccess(access) => self.authority_information(access)?,
            ParsedExtension::ParseError { .. } => return None,
            _ => return Some(false),
        }
        Some(true)
    }

    /// Sets a number, and the flag that it is a written zero.
    fn count(&mut self, key: &'static str, zero: &'static str, count: i64) {
        self.set(key, count);
        self.set(zero, count == 0);
    }

    fn alternative_names(&mut self, names: &[GeneralName<'_>]) -> Option<()> {
        for name in names {
            match name {
                GeneralName::RFC822Name(email) => self.push("EmailAddresses", ascii(email)?),
                GeneralName::DNSName(domain) => self.push("DNSNames", ascii(domain)?),
                GeneralName::URI(uri) => self.push("URIs", Url::parse(ascii(uri)?).ok()?.object()),
                GeneralName::IPAddress(ip) => self.push("IPAddresses", address(ip)?.to_string()),
                GeneralName::Invalid(..) => return None,
                _ => {}
            }
        }
        Some(())
    }

    fn name_constraints(
        &mut self,
        [domains, emails, uris, ranges]: [&'static str; 4],
        trees: &[GeneralSubtree<'_>],
    ) -> Option<()> {
        for tree in trees {
            match &tree.base {
                GeneralName::RFC822Name(email) => self.push(emails, ascii(email)?),
                GeneralName::DNSName(domain) => self.push(domains, ascii(domain)?),
                GeneralName::URI(uri) => self.push(uris, ascii(uri)?),
                GeneralName::IPAddress(range) => {
                    let (ip, mask) = range.split_at(range.len() / 2);
                    let ip = Value::from(address(ip)?.to_string());
                    self.push(ranges, object([("IP", ip), ("Mask", bytes(mask))]));
                }
                GeneralName::Invalid(..) => return None,
                _ => {}
            }
        }
        Some(())
    }

    fn distribution_points(&mut self, points: &CRLDistributionPoints<'_>) -> Option<()> {
        for point in &points.points {
            let Some(DistributionPointName::FullName(names)) = &point.distribution_point else { continue };
            for name in names {
                if let GeneralName::URI(uri) = name {
                    self.push("CRLDistributionPoints", ascii(uri)?);
                }
            }
        }
        Some(())
    }

    fn authority_information(&mut self, access: &AuthorityInfoAccess<'_>) -> Option<()> {
        for description in access.iter() {
            let GeneralName::URI(location) = &description.access_location else { continue };
            match arcs(&description.access_method).as_slice() {
                [1, 3, 6, 1, 5, 5, 7, 48, 1] => self.push("OCSPServer", ascii(location)?),
                [1, 3, 6, 1, 5, 5, 7, 48, 2] => self.push("IssuingCertificateURL", ascii(location)?),
                _ => {}
            }
        }
        Some(())
    }

    /// Parses the usages again, because the library does not keep their order.
    fn extended_key_usage(&mut self, value: &[u8]) -> Option<()> {
        for oid in Vec::<Oid<'_>>::from_der(value).ok()?.1 {
            let oid = arcs(&oid);
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

/// The fields of name constraints: domains, email addresses, URIs, IP ranges.
const PERMITTED: [&str; 4] =
    ["PermittedDNSDomains", "PermittedEmailAddresses", "PermittedURIDomains", "PermittedIPRanges"];
const EXCLUDED: [&str; 4] =
    ["ExcludedDNSDomains", "ExcludedEmailAddresses", "ExcludedURIDomains", "ExcludedIPRanges"];

fn ascii(text: &str) -> Option<&str> {
    text.is_ascii().then_some(text)
}

fn address(content: &[u8]) -> Option<IpAddr> {
    let version_4 = <[u8; 4]>::try_from(content).map(IpAddr::from);
    version_4.or_else(|_| <[u8; 16]>::try_from(content).map(IpAddr::from)).ok()
}
