//! A world some time later.

use std::sync::atomic::{AtomicBool, Ordering};

use jiff::{SignedDuration, Timestamp};

use crate::policy::ResourceRule;
use crate::resources::KindResource;
use crate::value::{GroupVersionKind, Value};

use super::world::{Lookup, LookupError, TargetAccess, TargetLookup, TargetRefusal, World};

/// How much later each request is than the one before: another day, hour, minute and second.
const STEP: SignedDuration = SignedDuration::from_secs(90_061);

/// The same world at a later request: another time, and other random numbers.
pub struct LaterWorld<'w> {
    world: &'w dyn World,
    requests: u32,
    is_asked: AtomicBool,
}

impl<'w> LaterWorld<'w> {
    /// The world so many requests later; with 0, the same world.
    pub const fn new(world: &'w dyn World, requests: u32) -> Self {
        Self { world, requests, is_asked: AtomicBool::new(false) }
    }

    /// Whether anything asked for the time or a random number.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }
}

impl World for LaterWorld<'_> {
    fn now(&self) -> Timestamp {
        self.is_asked.store(true, Ordering::Relaxed);
        let now = self.world.now();
        now.checked_add(STEP * i32::try_from(self.requests).unwrap_or(i32::MAX)).unwrap_or(now)
    }

    fn random(&self, key: &str, call: u64) -> u64 {
        self.is_asked.store(true, Ordering::Relaxed);
        match self.requests {
            0 => self.world.random(key, call),
            later => self.world.random(&format!("{later} requests later: {key}"), call),
        }
    }

    fn namespace_labels(&self, namespace: &str) -> Option<Value> {
        self.world.namespace_labels(namespace)
    }

    fn resource(&self, kind: &GroupVersionKind) -> KindResource<'_> {
        self.world.resource(kind)
    }

    fn kinds(&self, rule: &ResourceRule) -> Vec<GroupVersionKind> {
        self.world.kinds(rule)
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        self.world.lookup(lookup)
    }

    fn targets(&self, lookup: &TargetLookup<'_>) -> Result<Vec<Value>, LookupError> {
        self.world.targets(lookup)
    }

    fn refusal(&self, access: &TargetAccess<'_>) -> Option<TargetRefusal> {
        self.world.refusal(access)
    }
}
