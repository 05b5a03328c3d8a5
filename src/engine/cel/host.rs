//! What functions of expressions need from outside: the world of the run.

use jiff::Timestamp;

use crate::cel::{Host, HostError, HostLookup, Numbers, Val};
use crate::engine::global_entry::project;
use crate::engine::lookups;
use crate::engine::world::{LookupError, LookupSource, World};
use crate::jmespath::{Clock, Runtime, SeededRandom};
use crate::semantics::DivergenceTracker;
use crate::value::{GroupVersionKind, Text, Value};
use crate::variables::Query;

use super::scope::Scope;

impl Host for Scope<'_> {
    fn now(&self) -> Timestamp {
        self.evaluation.world.now()
    }

    fn random(&self) -> u64 {
        let call = self.random_calls.replace(self.random_calls.get() + 1);
        let named = |kind: &str, name: &dyn std::fmt::Display| format!("{kind}/{name}");
        let object = self.evaluation.identity.map(|object| named(&object.kind.to_string(), object));
        let target = self.target().map(|target| named(&target.kind.to_string(), &target));
        let key = [object, target, Some(self.policy.meta.full_name().to_string())];
        let key: Vec<String> = key.into_iter().flatten().collect();
        self.evaluation.world.random(&key.join("/"), call)
    }

    fn plural(&self, kind: &GroupVersionKind) -> Text {
        (&*self.evaluation.world.resource(kind).plural).into()
    }

    fn namespace(&self) -> Option<&str> {
        self.policy.meta.namespace.as_deref()
    }

    fn look_up(&self, wanted: &HostLookup<'_>) -> Result<Val, HostError> {
        let (source, numbers) = match *wanted {
            HostLookup::Api(path) => (LookupSource::Api(path), Numbers::Exact),
            HostLookup::Create(url) => (LookupSource::Call { method: "POST", url }, Numbers::Exact),
            HostLookup::Global { name, projection } => return self.global(name, projection),
            HostLookup::Image(reference) => (LookupSource::Image(reference), Numbers::Doubles),
            HostLookup::Http { method, url } => (LookupSource::Http { method, url }, Numbers::Doubles),
        };
        Ok(Val::from_json(&self.lookup(source)?, numbers))
    }
}

impl Scope<'_> {
    fn lookup(&self, source: LookupSource<'_>) -> Result<Value, HostError> {
        lookups::lookup(self.evaluation.world, self.evaluation.taint, source).map_err(|error| match error {
            LookupError::NotFound => HostError::NotFound,
            LookupError::NotGiven => HostError::NoData(self.hint(source)),
            LookupError::Unanswerable(why) => HostError::Failed(why),
        })
    }

    /// Which input would have the result of a lookup.
    fn hint(&self, source: LookupSource<'_>) -> String {
        let names = &self.evaluation.engine.settings().input_names;
        let calls = "such requests are never sent, only `apiCallResponses` of a test suite have responses";
        match source {
            LookupSource::Image(_) => format!("pass the image with {}", names.images),
            LookupSource::Call { .. } | LookupSource::Http { .. } => calls.to_owned(),
            LookupSource::Global(_) | LookupSource::GlobalEntry(_) => {
                format!("pass the GlobalContextEntry and the objects that it needs with {}", names.objects)
            }
            _ => format!("pass the objects with {}", names.objects),
        }
    }

    /// The data of a global context entry, or its projection. Only those of objects have integers.
    fn global(&self, name: &str, projection: &str) -> Result<Val, HostError> {
        let data = self.lookup(LookupSource::Global(name))?;
        let spec = match self.lookup(LookupSource::GlobalEntry(name)) {
            Ok(spec) => spec,
            Err(_) if projection.is_empty() => Value::Null,
            Err(error) => return Err(error),
        };
        let is_of_objects = spec.get("kubernetesResource").is_some_and(|member| !member.is_null());
        let numbers = if is_of_objects { Numbers::Exact } else { Numbers::Doubles };
        let (tracker, clock) = (DivergenceTracker::default(), WorldClock(self.evaluation.world));
        let random = SeededRandom::new(0);
        let settings = self.evaluation.engine.settings();
        let runtime = Runtime::new(&clock, &random, &tracker)
            .with_limits(settings.limits.of_expressions())
            .with_secrets(Some(self.evaluation.taint));
        let search = |path: &str| {
            let query = Query::new(path);
            let expression = query.expression().map_err(|error| error.to_string())?;
            expression.search(&data, &runtime).map_err(|error| error.to_string())
        };
        // The controllers are the only description of what expressions see.
        let found = project(&spec, data.clone(), projection, search, |_| false);
        found
            .map(|found| Val::from_json(&found, numbers))
            .map_err(|error| HostError::Failed(error.to_string()))
    }
}

struct WorldClock<'a>(&'a dyn World);

impl Clock for WorldClock<'_> {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}
