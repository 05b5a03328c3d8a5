//! Manifests from a number: fields of a kind at random, with values that defaults depend on.

use kyv::value::{Map, Value};
use kyv_fuzz::seeds::Random;

use super::schema::{Field, Root, Schema, Type};
use super::values;

/// Kinds that get more manifests than others, because they have more defaults.
const FREQUENT: [&str; 14] = [
    "Pod",
    "Pod",
    "Pod",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "Service",
    "Service",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "HorizontalPodAutoscaler",
    "Ingress",
];

/// Of so many manifests one is of a frequent kind.
const FREQUENT_STEP: u64 = 2;

/// How many values a manifest has at most, about.
const MAX_VALUES: usize = 220;

/// Makes the manifest of each number.
pub(crate) struct Generator<'a> {
    schema: &'a Schema,
}

impl<'a> Generator<'a> {
    pub(crate) const fn new(schema: &'a Schema) -> Self {
        Self { schema }
    }

    /// The same manifest in each run. All kinds come in turn.
    pub(crate) fn manifest(&self, number: u64) -> Value {
        let mut random = Random(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let roots = &self.schema.roots;
        let root = if number.is_multiple_of(FREQUENT_STEP) {
            let kind = FREQUENT[random.below(FREQUENT.len())];
            let found: Vec<&Root> = roots.iter().filter(|root| root.kind == kind).collect();
            found[random.below(found.len())]
        } else {
            let turn = usize::try_from(number / FREQUENT_STEP).expect("a small number");
            &roots[turn % roots.len()]
        };
        let mut writer = Writer::new(self.schema, random);
        let mut manifest = writer.object(&root.type_name, 0);
        let members = manifest.as_object_mut().expect("an object");
        let old = std::mem::take(members);
        members.insert("apiVersion".into(), Value::from(root.api_version.as_str()));
        members.insert("kind".into(), Value::from(root.kind.as_str()));
        members.insert("metadata".into(), Value::empty_object());
        for (name, member) in old.iter().filter(|(name, _)| !matches!(&***name, "apiVersion" | "kind")) {
            members.insert(name.clone(), member.clone());
        }
        finish_metadata(&mut manifest, root, &mut writer.random);
        manifest
    }
}

/// A name and a namespace, so that the request has a path, unless the metadata is broken on purpose.
fn finish_metadata(manifest: &mut Value, root: &Root, random: &mut Random) {
    let metadata = manifest.as_object_mut().and_then(|members| members.get_mut("metadata"));
    let Some(metadata) = metadata.and_then(Value::as_object_mut) else { return };
    match random.below(8) {
        // A Pod without any name is refused before webhooks.
        0 if root.kind != "Pod" => {}
        1 => drop(metadata.insert("generateName".into(), Value::from("web-"))),
        _ => drop(metadata.insert("name".into(), Value::from("web"))),
    }
    metadata.shift_remove("namespace");
    if root.is_namespaced && random.below(2) == 0 {
        metadata.insert("namespace".into(), Value::from("default"));
    }
}

/// How a manifest is written: most manifests are well-formed, so that what is odd in others is on its own.
struct Style {
    /// Percent of the optional fields that are there.
    density: usize,
    nulls: usize,
    wrong_types: usize,
    unknown_fields: usize,
}

struct Writer<'a> {
    schema: &'a Schema,
    random: Random,
    style: Style,
    values: usize,
}

impl<'a> Writer<'a> {
    fn new(schema: &'a Schema, mut random: Random) -> Self {
        let density = [3, 8, 15, 25, 40, 70][random.below(6)];
        // Per thousand.
        let mut often = |one_in: usize, rate: usize| if random.below(one_in) == 0 { rate } else { 0 };
        let style =
            Style { density, nulls: often(6, 60), wrong_types: often(12, 15), unknown_fields: often(8, 120) };
        Self { schema, random, style, values: 0 }
    }

    fn happens(&mut self, per_thousand: usize) -> bool {
        per_thousand > 0 && self.random.below(1000) < per_thousand
    }

    fn object(&mut self, type_name: &str, depth: usize) -> Value {
        let schema = self.schema;
        let mut members = Map::default();
        for field in schema.fields(type_name) {
            if self.has(field, depth) {
                let value = self.field(type_name, field, depth);
                members.insert(field.name.as_str().into(), value);
            }
        }
        if self.happens(self.style.unknown_fields) {
            let name = values::unknown_name(&mut self.random);
            members.insert(name.into(), values::anything(&mut self.random));
        }
        Value::object(members)
    }

    fn has(&mut self, field: &Field, depth: usize) -> bool {
        if self.values > MAX_VALUES || field.name == "managedFields" {
            return false;
        }
        // Parts that hold everything else.
        if matches!(&*field.name, "spec" | "template" | "containers" | "metadata" | "jobTemplate") {
            return self.random.below(100) < 93;
        }
        let percent = match depth {
            0 if field.name == "status" => 10,
            0 => self.style.density.max(50),
            _ if field.is_required => 80,
            _ => self.style.density,
        };
        self.random.below(100) < percent
    }

    fn field(&mut self, owner: &str, field: &Field, depth: usize) -> Value {
        self.values += 1;
        if self.happens(self.style.nulls) {
            return Value::Null;
        }
        if self.happens(self.style.wrong_types) {
            return values::anything(&mut self.random);
        }
        if let Some(value) = values::of_field(&mut self.random, owner, &field.name) {
            return value;
        }
        self.value(owner, field, &field.kind, depth)
    }

    fn value(&mut self, owner: &str, field: &Field, kind: &Type, depth: usize) -> Value {
        match kind {
            Type::List(inner) => {
                let length = self.length();
                Value::array((0..length).map(|_| self.element(owner, field, inner, depth)).collect())
            }
            Type::Map(inner) => {
                let length = self.length();
                let member = |writer: &mut Self| {
                    let key = values::key(&mut writer.random, &field.name);
                    (key, writer.element(owner, field, inner, depth))
                };
                (0..length).map(|_| member(self)).collect()
            }
            Type::Object(name) => self.object(name, depth + 1),
            scalar => values::scalar(&mut self.random, scalar, &field.name),
        }
    }

    fn element(&mut self, owner: &str, field: &Field, kind: &Type, depth: usize) -> Value {
        self.values += 1;
        if self.happens(self.style.nulls / 2) {
            return Value::Null;
        }
        self.value(owner, field, kind, depth)
    }

    fn length(&mut self) -> usize {
        [0, 1, 1, 1, 1, 1, 2, 2, 3][self.random.below(9)]
    }
}
