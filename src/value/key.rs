//! What members of an object are looked up by.

use super::Text;

/// What a member is looked up by: a string of any type. A [`Text`] is compared fastest.
pub trait Key {
    /// The key.
    fn as_str(&self) -> &str;

    /// Whether it is this key.
    fn is(&self, key: &Text) -> bool {
        self.as_str() == key.as_str()
    }
}

impl Key for str {
    fn as_str(&self) -> &str {
        self
    }
}

impl Key for String {
    fn as_str(&self) -> &str {
        self
    }
}

impl Key for Text {
    fn as_str(&self) -> &str {
        self
    }

    #[inline]
    fn is(&self, key: &Text) -> bool {
        self == key
    }
}

impl<K: Key + ?Sized> Key for &K {
    fn as_str(&self) -> &str {
        (**self).as_str()
    }

    #[inline]
    fn is(&self, key: &Text) -> bool {
        (**self).is(key)
    }
}
