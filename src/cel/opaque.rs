//! Values of libraries.

use core::net::IpAddr;

use crate::value::{Quantity, Text, Version};

use super::image::Image;
use super::named_format::NamedFormat;
use super::network::Network;
use crate::formats::url::Url;

/// A value that only the functions of its library look into.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Opaque {
    /// An amount, such as `500m`.
    Quantity(Quantity),
    /// A sum or difference of amounts.
    ComputedQuantity(Quantity),
    /// A semantic version.
    Semver(Version<'static>),
    /// An address.
    Ip(IpAddr),
    /// A network.
    Cidr(Network),
    /// A URL.
    Url(Url),
    /// A reference to an image.
    Image(Image),
    /// A resource of the API server.
    Resource(ResourceName),
    /// A format of texts.
    Format(NamedFormat),
    /// A client with certificate authorities of its own.
    HttpClient,
}

/// The name of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceName {
    /// Group and version, or only the version.
    pub api_version: Text,
    /// The plural name.
    pub plural: Text,
}

impl Opaque {
    pub(super) const fn type_name(&self) -> &'static str {
        match self {
            Self::Quantity(_) | Self::ComputedQuantity(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Image(_) => "kyverno.image",
            Self::Resource(_) => "schema.GroupVersionResource",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::HttpClient => "http.Context",
        }
    }

    pub(super) const fn is_computed(&self) -> bool {
        matches!(self, Self::ComputedQuantity(_))
    }

    /// The amount, if it is one.
    pub(super) const fn as_quantity(&self) -> Option<&Quantity> {
        if let Self::Quantity(quantity) | Self::ComputedQuantity(quantity) = self {
            Some(quantity)
        } else {
            None
        }
    }

    /// The bytes of the texts in it.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            Self::Url(url) => url.text().len(),
            Self::Image(image) => image.text.len(),
            Self::Resource(resource) => resource.api_version.len() + resource.plural.len(),
            Self::Semver(version) => version.text_bytes(),
            _ => 0,
        }
    }

    /// What the costs of its functions follow from.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Ip(address) => {
                if address.is_ipv4() {
                    4
                } else {
                    16
                }
            }
            Self::Cidr(network) => u64::from(network.bits).div_ceil(8),
            Self::Quantity(_)
            | Self::ComputedQuantity(_)
            | Self::Semver(_)
            | Self::Url(_)
            | Self::Image(_)
            | Self::Resource(_)
            | Self::Format(_)
            | Self::HttpClient => 1,
        }
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Semver(a), Self::Semver(b)) => a == b,
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a), Self::Cidr(b)) => a == b,
            (Self::Url(a), Self::Url(b)) => a == b,
            (Self::Image(a), Self::Image(b)) => a == b,
            (Self::Resource(a), Self::Resource(b)) => a == b,
            (Self::Format(a), Self::Format(b)) => a == b,
            _ => self.as_quantity().is_some_and(|quantity| other.as_quantity() == Some(quantity)),
        }
    }
}
