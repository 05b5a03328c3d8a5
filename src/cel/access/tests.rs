//! What is known of expressions by their texts.

use super::*;

fn shown(define: &[(&str, &str)], add: impl FnOnce(&mut Access)) -> (String, String) {
    let mut access = Access::new(Dialect::Kyverno, true);
    for (name, source) in define {
        access.define(&Text::from(*name), source);
    }
    add(&mut access);
    (access.reads.to_string(), access.writes.to_string())
}

#[test]
fn what_is_read_is_known_by_the_text() {
    let define = [
        ("pod", "object.kind == 'Pod' ? object : object.spec.template"),
        ("names", "object.spec.containers.map(c, c.name)"),
    ];
    for (source, expected) in [
        ("object.metadata.labels['a'] == 'x'", "metadata.labels.a"),
        ("has(object.spec.x) && request.object.data.y == 1", "data.y, spec.x"),
        ("object.spec.containers[0].image", "spec.containers[].image"),
        ("object.a[object.b]", "a, b"),
        ("object.?a.?b.orValue(1)", "a.b"),
        ("object.spec.containers.all(c, c.name == oldObject.x)", "spec.containers[].name"),
        (
            "object.spec.containers.filter(c, c.x == 1).map(c, c.y)",
            "spec.containers[].x, spec.containers[].y",
        ),
        ("object.spec.containers.filter(c, c.x == 1)", "spec.containers"),
        ("object.l.exists(i, v, v.x.exists(y, y.z == v.w))", "l[].w, l[].x[].z"),
        ("size(object.l) > 1", "l[]"),
        ("'a' in object.m.?l.orValue({})", "m.l.a, m.l[]"),
        ("object.l.optMap(x, x.y)", "l.y"),
        ("cel.bind(x, object.a, x.b + x.c)", "a.b, a.c"),
        ("[1].all(object, object == 1)", "nothing"),
        ("object.a == 1 ? object.b : object.c", "a, b, c"),
        ("request.namespace + variables.x", "kind, spec.containers[].name"),
        ("variables.pod.spec.x", "kind, spec.containers[].name, spec.template.spec.x, spec.x"),
        ("variables.names", "kind, spec.containers[].name"),
        ("object", "everything"),
        ("size(object)", "[]"),
        ("request.object", "everything"),
        ("request['object'].a", "everything"),
        ("cel.bind(r, request, r.object.a)", "everything"),
        ("request", "everything"),
        ("variables.pod", "everything"),
        ("1 +", "everything"),
    ] {
        let define = if source.contains("variables.") { &define[..] } else { &[] };
        assert_eq!(shown(define, |access| access.read(source)).0, expected, "{source}");
    }
}

#[test]
fn what_is_written_is_known_by_the_text() {
    let define = [("path", "object.kind == 'Pod' ? '' : '/spec/template'"), ("open", "'/a/' + object.b")];
    for (source, expected) in [
        ("Object{metadata: Object.metadata{labels: {'a': 'b'}}}", "metadata.labels.a"),
        ("Object{spec: Object.spec{containers: object.spec.containers}}", "spec.containers"),
        ("Object{data: {object.a: 'b'}}", "data"),
        (
            "true ? Object{} : Object{spec: Object.spec{?a: optional.of(1), b: Object.spec.b{}}}",
            "spec.a, spec.b",
        ),
        (
            "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, a: 1})}}",
            "spec.containers[].a",
        ),
        (
            "Object{spec: Object.spec{containers: object.spec.containers.filter(c, c.x == 1).map(c, Object.spec.containers{name: c.name, a: Object.spec.containers.a{b: 1}})}}",
            "spec.containers[].a.b",
        ),
        (
            "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: 'x', a: 1})}}",
            "spec.containers",
        ),
        (
            "Object{spec: Object.spec{initContainers: object.spec.containers.map(c, Object.spec.initContainers{name: c.name, a: 1})}}",
            "spec.initContainers",
        ),
        (
            "Object{spec: Object.spec{ports: object.spec.ports.map(c, Object.spec.ports{name: c.name, a: 1})}}",
            "spec.ports",
        ),
        ("[JSONPatch{op: 'add', path: '/metadata/labels/a~1b', value: 1}]", "metadata.labels.a/b"),
        (
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 1}]",
            "metadata.labels.a/b",
        ),
        (
            "[JSONPatch{op: 'move', from: '/a', path: '/spec/l/0/b'}] + [JSONPatch{op: 'test', path: '/c', value: 1}]",
            "a, spec.l",
        ),
        ("[JSONPatch{op: 'add', path: '/a/' + 'b', value: 1}]", "a.b"),
        ("[JSONPatch{op: 'add', path: variables.path + '/x', value: 1}]", "spec.template.x, x"),
        ("[JSONPatch{op: 'add', path: variables.open + '/x', value: 1}]", "a"),
        ("object.l.map(x, JSONPatch{op: 'add', path: '/a/b' + x, value: 1})", "a"),
        (
            "object.l.transformList(i, x, [JSONPatch{op: 'add', path: '/a/' + string(i) + '/b'}]).flatten()",
            "a",
        ),
        (
            "object.l.transformList(i, x, JSONPatch{op: 'add', path: '/l/' + string(i) + '/b', value: 1})",
            "l[].b",
        ),
        ("object.l.transformList(i, x, JSONPatch{op: 'add', path: '/l/' + string(i), value: 1})", "l"),
        ("object.k.transformList(i, x, JSONPatch{op: 'add', path: '/l/' + string(i) + '/b', value: 1})", "l"),
        ("object.l.map(i, JSONPatch{op: 'add', path: '/l/' + string(i) + '/b', value: 1})", "l"),
        ("[JSONPatch{op: 'add', path: object.path, value: 1}]", "everything"),
        ("[JSONPatch{op: 'replace', value: 1}]", "everything"),
        ("object.l.map(variables, JSONPatch{op: 'add', path: variables.path, value: 1})", "everything"),
        ("variables.patch", "everything"),
    ] {
        let (_, writes) = shown(&define, |access| access.write(source));
        assert_eq!(writes, expected, "{source}");
    }
}

#[test]
fn what_a_patch_tests_and_what_is_above_its_paths_is_read() {
    for (source, expected) in [
        ("[JSONPatch{op: 'test', path: '/a/b', value: 1}]", "a.b"),
        ("[JSONPatch{op: 'add', path: '/a/b', value: object.c}]", "a, c"),
    ] {
        assert_eq!(shown(&[], |access| access.write(source)).0, expected, "{source}");
    }
}

#[test]
fn variables_that_name_each_other_twice_stay_small() {
    let mut access = Access::new(Dialect::Kyverno, true);
    access.define(&"v0".into(), "object.x ? 'a' : 'b'");
    access.define(&"w0".into(), "object.x");
    for number in 1..200 {
        let before = number - 1;
        access.define(&format!("v{number}").into(), &format!("variables.v{before} + variables.v{before}"));
        let source = format!("object.y ? variables.w{before}.a : variables.w{before}.b");
        access.define(&format!("w{number}").into(), &source);
    }
    access.write("[JSONPatch{op: 'add', path: '/' + variables.v199, value: variables.w199}]");
    assert!(access.writes.is_everything() && access.reads.is_everything());
}
