"use strict";
// Shows the data of a run. Texts of the data become text nodes, never markup.
(() => {
  const DOCS = "https://github.com/kubectl-kyv/kubectl-kyv/blob/main/docs";
  /** How many items are added to the list at once. */
  const STEP = 100;
  /** How many bars a chart has. */
  const BARS = 10;

  const command = document.body.dataset.command;
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  /** Characters that are not seen, or change the direction of writing, as their numbers. */
  function shown(text) {
    const number = (c) => `\\u{${c.codePointAt(0).toString(16)}}`;
    return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, number);
  }

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value !== undefined) made.setAttribute(key, value);
    }
    for (const child of children.flat(2)) {
      if (child instanceof Node) made.append(child);
      else if (child !== undefined && child !== null) made.append(shown(String(child)));
    }
    return made;
  }

  const json = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const tag = (word) => element("span", { class: `tag ${word.split(" ")[0]}` }, word);
  const unique = (texts) => [...new Set(texts)];

  /** A code with a link to its page. */
  function code(name) {
    const folder = /^KYV\d+$/.test(name) ? "diagnostics" : /^KYV-D\d+$/.test(name) ? "divergences" : undefined;
    return folder ? element("a", { href: `${DOCS}/${folder}/${name}.md`, rel: "noreferrer" }, name) : name;
  }

  function table(caption, heads, rows) {
    if (rows.length === 0) return [];
    const cells = (row) => row.map((cell) => element("td", {}, cell));
    return element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, rows.map((row) => element("tr", {}, cells(row)))));
  }

  // Diffs.

  /** The parts of a unified diff: hunks, and lines that are in none. */
  function parts(text) {
    const found = [];
    let hunk;
    const lines = text.endsWith("\n") ? text.slice(0, -1).split("\n") : text.split("\n");
    // A line `--- ` is a header only where no hunk still needs lines.
    let left = [0, 0];
    for (const line of lines) {
      const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/.exec(line);
      if (left[0] + left[1] === 0 && head) {
        hunk = { old: Number(head[1]), new: Number(head[3]), title: head[5], lines: [] };
        left = [Number(head[2] ?? 1), Number(head[4] ?? 1)];
        found.push(hunk);
      } else if (left[0] + left[1] > 0 && " -+".includes(line[0] ?? " ")) {
        hunk.lines.push([line[0] ?? " ", line.slice(1)]);
        if (line[0] !== "+") left[0] -= 1;
        if (line[0] !== "-") left[1] -= 1;
      } else if (line.startsWith("+++ ") && found.length > 0) {
        found.push({ message: line.slice(4).split("\t").pop() });
      } else if (line.startsWith("#")) {
        found.push({ message: line.replace(/^# */, "") });
      }
    }
    return found;
  }

  /** A line with the part marked that differs from the other one. */
  function marked(text, other) {
    if (other === undefined) return [text];
    let start = 0;
    while (start < text.length && start < other.length && text[start] === other[start]) start += 1;
    let end = 0;
    const longest = Math.min(text.length, other.length) - start;
    while (end < longest && text[text.length - 1 - end] === other[other.length - 1 - end]) end += 1;
    const middle = text.slice(start, text.length - end);
    if (middle === "" || start + end === 0) return [text];
    return [text.slice(0, start), element("mark", {}, middle), text.slice(text.length - end)];
  }

  function hunkRows(hunk) {
    const rows = [];
    let [before, after] = [hunk.old, hunk.new];
    const number = (value) => element("td", { class: "line" }, value ?? "");
    const row = (removed, added) => {
      const left = removed === undefined
        ? element("td")
        : element("td", { class: "removed" }, element("del", {}, marked(removed, added)));
      const right = added === undefined
        ? element("td")
        : element("td", { class: "added" }, element("ins", {}, marked(added, removed)));
      rows.push(element("tr", {},
        number(removed === undefined ? undefined : before++), left,
        number(added === undefined ? undefined : after++), right));
    };
    let [removed, added] = [[], []];
    const flush = () => {
      for (let at = 0; at < Math.max(removed.length, added.length); at += 1) row(removed[at], added[at]);
      [removed, added] = [[], []];
    };
    for (const [sign, text] of hunk.lines) {
      if (sign === "-") removed.push(text);
      else if (sign === "+") added.push(text);
      else {
        flush();
        const same = () => element("td", {}, element("span", { class: "same" }, text));
        rows.push(element("tr", {}, number(before++), same(), number(after++), same()));
      }
    }
    flush();
    return rows;
  }

  /** The two sides of a diff beside each other. */
  function sides(text, name, heads = ["Before", "After"]) {
    const made = [];
    let bodies = [];
    const close = () => {
      if (bodies.length > 0) {
        const head = (word) => element("th", { scope: "col" }, word);
        const line = (word) => element("th", { scope: "col", class: "line" }, element("span", { class: "unseen" }, word));
        made.push(element("table", { class: "diff" },
          element("caption", { class: "unseen" }, `Diff of ${name}`),
          element("thead", {}, element("tr", {}, line("Line"), head(heads[0]), line("Line"), head(heads[1]))),
          bodies));
      }
      bodies = [];
    };
    for (const part of parts(text)) {
      if (part.message !== undefined) {
        close();
        made.push(element("p", {}, part.message));
        continue;
      }
      // The title is `OBJECT: RULES`.
      const [, by] = /: (.*)$/.exec(part.title) ?? [];
      const head = by === undefined ? [] : element("tr", {}, element("th", { class: "hunk", scope: "rowgroup", colspan: "4" }, by));
      bodies.push(element("tbody", {}, head, hunkRows(part)));
    }
    close();
    return made;
  }

  // Rules.

  const operations = (patch) => patch.map((one) => {
    const value = "value" in one ? ` ${json(one.value)}` : "";
    return `${one.op} ${one.path}${value}\n`;
  }).join("");

  function trace(rule) {
    const variables = (rows, caption) => table(caption, ["Expression", "Value"],
      (rows ?? []).map((one) => [element("code", {}, one.expression), one.error ?? json(one.value)]));
    const side = (value, written) => (written === undefined ? json(value) : `${json(value)} (${json(written)})`);
    const conditions = (rule.conditions ?? []).map((one) => [
      one.met ? "yes" : "no", element("code", {}, one.path),
      side(one.key, one.keyWritten), one.operator, side(one.value, one.valueWritten)]);
    const expressions = (rule.expressions ?? []).map((one) => [
      [one.name ? `${one.name}: ` : "", element("code", {}, one.path)],
      element("code", {}, one.expression), one.error ?? json(one.value)]);
    const anchor = rule.anchor && element("p", {}, `Anchor ${rule.anchor.overlay} at ${rule.anchor.object}: ${rule.anchor.reason}`);
    return [
      anchor ?? [],
      table("Conditions", ["Met", "Field", "Key", "Operator", "Value"], conditions),
      variables(rule.variables, "Variables"),
      table("Expressions", ["Field", "Expression", "Value"], expressions),
    ];
  }

  function ruleDetails(rule) {
    const name = rule.policy === rule.rule ? rule.policy : `${rule.policy}/${rule.rule}`;
    const line = (label, text) => (text ? element("p", {}, `${label}${text}`) : []);
    const elements = (rule.elements ?? []).map((one) => element("details", { class: "rule" },
      element("summary", {}, `${one.list} [${one.indexes.join("][")}]`, tag(one.outcome)),
      line("", one.why), line("", one.message), trace(one)));
    return element("details", { class: "rule" },
      element("summary", {}, element("span", { class: "name" }, name), tag(rule.outcome)),
      line("Made from ", rule.generatedFrom),
      element("p", {}, rule.code ? [code(rule.code), " "] : [], rule.why ?? ""),
      line("Hint: ", rule.hint),
      line("Kyverno says: ", rule.original),
      (rule.reasons ?? []).map((reason) => line("", reason)),
      line("Exceptions: ", (rule.exceptions ?? []).join(", ")),
      rule.patch ? element("pre", {}, operations(rule.patch)) : [],
      trace(rule),
      elements,
      rule.elementsLeftOut ? line("", `${counted(rule.elementsLeftOut, "further element")} left out`) : []);
  }

  // Items: what the list shows. `states`, `policies`, `kinds` and `namespaces` are what it can be filtered by.

  function objectItem(row) {
    const object = row.object ?? {};
    const name = [object.kind, object.namespace, object.name].filter(Boolean).join("/");
    const rules = row.rules ?? [];
    const failing = new Set(rules.filter((rule) => rule.outcome === "error").map((rule) => rule.policy));
    const hasFailed = failing.size > 0;
    const impact = row.impact ?? {};
    const states = [
      row.changed && "changed",
      hasFailed && "failed",
      !row.changed && !hasFailed && "unchanged",
      impact.rollout && "restarts Pods",
      (impact.privilege ?? []).length > 0 && "more privileges",
      (impact.immutable ?? []).length > 0 && "immutable fields",
      (row.order ?? []).length > 0 && "depends on order",
    ].filter(Boolean);
    const acting = rules.filter((rule) => ["patched", "discarded", "error"].includes(rule.outcome));
    const fields = (label, paths) => ((paths ?? []).length > 0 ? element("p", {}, `${label}: ${paths.join(", ")}`) : []);
    return {
      title: name, origin: row.origin, states, kinds: [object.kind ?? ""], namespaces: [object.namespace ?? ""],
      policies: unique(acting.map((rule) => rule.policy)), failing, hasFailed, isCounted: row.changed || hasFailed,
      body: () => [
        fields("More privileges", impact.privilege),
        fields("Immutable", impact.immutable),
        (row.order ?? []).map((one) => element("p", {}, `Another order of ${one.policies.join(" and ")} gives another result: ${one.fields.join(", ")}`)),
        row.diff ? sides(row.diff, name) : [],
        rules.length > 0 ? element("h3", {}, "Rules") : [],
        rules.map(ruleDetails),
        (row.otherKinds ?? []).length > 0 ? element("p", {}, `${counted(row.otherKinds.length, "rule")} for other kinds`) : [],
        (row.divergences ?? []).map((one) => element("p", {}, code(one.id), ` ${one.title}. Documented: ${one.documented} Kyverno: ${one.kyverno}`)),
      ],
    };
  }

  function generatedObject(generated) {
    const labels = Object.entries(generated.namespaceLabels ?? {}).map(([key, value]) => `${key}=${value}`);
    return [
      element("pre", {}, JSON.stringify(generated.object, null, 2)),
      labels.length > 0 ? element("p", {}, `In a namespace with the labels ${labels.join(", ")}`) : [],
      generated.lookups ? element("p", {}, "What the policies look up is generated, too") : [],
      generated.with ? element("p", {}, `Only together with ${generated.with.join(", ")}`) : [],
    ];
  }

  function findingItem(row) {
    return {
      title: row.kind, origin: row.generated ? "a generated object" : counted(row.objects, "object"), states: [row.kind],
      policies: row.policies, kinds: row.kinds, namespaces: row.namespaces, isCounted: true,
      body: () => [
        element("p", {}, row.meaning),
        row.fields.length > 0 ? element("p", {}, `Fields: ${row.fields.join(", ")}`) : [],
        row.failing ? element("p", {}, `Fails in one of the orders: ${row.failing.join(", ")}`) : [],
        row.repeats ? element("p", {}, row.repeats) : [],
        row.refusal ? element("p", {}, row.refusal) : [],
        element("p", {}, `The smallest object: ${row.smallest} (${row.origin})`),
        row.generated ? generatedObject(row.generated) : [],
        row.diff ? sides(row.diff, row.smallest, ["Result", "Other result"]) : [],
        element("p", {}, `Cure: ${row.cure}`),
      ],
    };
  }

  function driftItem(row) {
    const [kind, ...names] = row.object.split("/");
    const isOut = row.fields.length > 0;
    const state = data.tool === "flux"
      ? isOut ? row.lasting ? "drift at each reconciliation" : "drift until Flux applies it" : row.failing ? "not compared" : "unchanged"
      : isOut ? "OutOfSync" : "Synced";
    const others = row.others ?? [];
    const cause = (field) => [...field.rules, ...field.managers].join(", ");
    return {
      title: row.object, origin: row.origin, kinds: [kind], namespaces: [names.length > 1 ? names[0] : ""],
      states: [state, row.incomplete && "incomplete"].filter(Boolean),
      policies: unique([...row.fields, ...others].flatMap((field) => field.policies)), isCounted: isOut,
      body: () => [
        isOut ? table("Differences", ["Field", "Difference", "By", "Can be ignored"], row.fields.map((field) => [
          element("code", {}, field.path), field.difference, cause(field), field.ignorable ? "yes" : "no"])) : [],
        others.length > 0 ? table("Not compared by Argo CD", ["Field", "State", "By"], others.map((field) => [
          element("code", {}, field.path), field.missing ? "not in the cluster" : "not in Git", cause(field)])) : [],
        row.failing ? element("p", {}, shown(`The dry run of Flux fails, because of ${row.failing.join(", ")}`))
          : row.incomplete ? element("p", {}, "Incomplete: the defaults of this kind are not known") : [],
      ],
    };
  }

  const summary = data.summary ?? {};
  const impact = (name) => summary.impact?.[name]?.objects ?? 0;
  const ofObjects = {
    heading: command === "diff" ? "Objects with rules" : "Objects", noun: "object", rows: data.objects, item: objectItem,
    counts: () => [
      ["Objects", summary.objects], ["Changed", summary.changed], ["Failed", summary.errors], ["Unchanged", summary.unchanged],
      ["Restart Pods", impact("rollout")], ["More privileges", impact("privilege")], ["Immutable fields", impact("immutable")],
    ],
  };
  const pages = {
    diff: ofObjects,
    explain: ofObjects,
    check: {
      heading: "Findings", noun: "finding", rows: data.findings, item: findingItem,
      counts: () => [["Findings", data.findings.length], ["Objects", data.objects], ["Failed", data.errors]]
        .concat(data.generated === undefined ? [] : [["Generated objects", data.generated]]),
    },
    drift: {
      heading: "Objects with differences", noun: "object", rows: data.objects, item: driftItem,
      counts: () => [[data.tool === "flux" ? "Drift" : "OutOfSync", data.objects.filter((row) => row.fields.length > 0).length], ["Objects", data.evaluated]],
    },
  };
  const page = pages[command];
  const items = page.rows.map(page.item);

  // Filters. Each has the values that its items have, the most frequent first.

  const facets = [
    { name: "states", label: command === "check" ? "Finding" : "State", of: (item) => item.states, isChart: command === "check" },
    {
      name: "policies", label: "Policy", of: (item) => item.policies, isChart: true,
      hasFailed: (item, policy) => item.failing?.has(policy),
    },
    { name: "kind", label: "Kind", of: (item) => item.kinds.filter(Boolean), isChart: true },
    { name: "namespace", label: "Namespace", of: (item) => item.namespaces.filter(Boolean), isChart: true },
  ];
  for (const facet of facets) {
    const counts = new Map();
    for (const item of items) {
      for (const value of facet.of(item)) {
        const count = counts.get(value) ?? { all: 0, counted: 0, failed: 0 };
        count.all += 1;
        if (item.isCounted) count.counted += 1;
        if (facet.hasFailed ? facet.hasFailed(item, value) : item.hasFailed) count.failed += 1;
        counts.set(value, count);
      }
    }
    const compared = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
    facet.counts = [...counts].sort(([name, a], [other, b]) => b.counted - a.counted || compared(name, other));
    facet.chosen = "";
  }
  let searched = "";
  let found = items;
  let visible = 0;

  const textOf = (item) => (item.text ??= [item.title, item.origin, ...item.policies, ...item.states].join("\n").toLowerCase());

  function search() {
    const words = searched.toLowerCase().split(/\s+/).filter(Boolean);
    found = items.filter((item) =>
      facets.every((facet) => facet.chosen === "" || facet.of(item).includes(facet.chosen))
      && words.every((word) => textOf(item).includes(word)));
    byId("items").replaceChildren();
    visible = 0;
    for (const facet of facets) {
      if (facet.select) facet.select.value = facet.chosen;
      for (const [value, bar] of facet.bars ?? []) bar.setAttribute("aria-pressed", String(facet.chosen === value));
    }
    more();
  }

  function more() {
    const next = found.slice(visible, visible + STEP);
    byId("items").append(...next.map(listed));
    visible += next.length;
    byId("shown").textContent = found.length === items.length
      ? counted(items.length, page.noun)
      : `${found.length} of ${counted(items.length, page.noun)}`;
    const rest = found.length - visible;
    byId("more").hidden = rest === 0;
    byId("more").textContent = `Show ${Math.min(rest, STEP)} more of ${rest}`;
    return next.length;
  }

  function listed(item) {
    const policies = item.policies.length > 0 ? element("span", { class: "policies" }, ` ${item.policies.join(", ")}`) : [];
    const details = element("details", {},
      element("summary", {}, element("bdi", { class: "name" }, item.title), item.states.filter((state) => state !== item.title).map(tag), policies));
    details.addEventListener("toggle", () => {
      details.append(element("div", { class: "body" }, element("p", {}, item.origin), item.body()));
    }, { once: true });
    return element("li", {}, details);
  }

  function filters() {
    const form = byId("filters");
    form.hidden = items.length === 0;
    form.addEventListener("submit", (event) => event.preventDefault());
    const input = element("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => {
      searched = input.value;
      search();
    });
    form.append(element("label", { class: "search" }, "Search", input));
    for (const facet of facets.filter((one) => one.counts.length > 0)) {
      const option = ([value, count]) => element("option", { value }, `${value} (${count.all})`);
      facet.select = element("select", { id: `filter-${facet.name}` }, element("option", { value: "" }, "all"), facet.counts.map(option));
      facet.select.addEventListener("change", () => {
        facet.chosen = facet.select.value;
        search();
      });
      form.append(element("label", {}, facet.label, facet.select));
    }
    const clear = element("button", { type: "button", id: "clear" }, "Clear");
    clear.addEventListener("click", () => {
      for (const facet of facets) facet.chosen = "";
      input.value = searched = "";
      search();
      input.focus();
    });
    form.append(clear);
  }

  function charts() {
    for (const facet of facets.filter((one) => one.isChart)) {
      const rows = facet.counts.filter(([, count]) => count.counted > 0);
      if (rows.length === 0) continue;
      const most = rows[0][1].counted;
      facet.bars = new Map();
      const bar = ([value, { counted: number, failed }]) => {
        const part = (share, name) => {
          const made = element("i", { class: name });
          made.style.width = `${(share / most) * 100}%`;
          return made;
        };
        const failures = failed > 0 ? `, ${failed} failed` : "";
        const made = element("button", { type: "button", class: "bar", "aria-pressed": "false" },
          element("bdi", { class: "name", title: shown(value) }, value),
          element("span", { class: "number" }, `${number}${failures}`),
          element("span", { class: "track", "aria-hidden": "true" }, part(number - failed, "changed"), part(failed, "failed")));
        made.addEventListener("click", () => {
          facet.chosen = facet.chosen === value ? "" : value;
          search();
        });
        facet.bars.set(value, made);
        return element("li", {}, made);
      };
      const rest = rows.length - BARS;
      byId("charts").append(element("figure", {},
        element("figcaption", {}, `By ${facet.label.toLowerCase()}`),
        element("ul", {}, rows.slice(0, BARS).map(bar)),
        rest > 0 ? element("p", {}, `and ${rest} more in the filter`) : []));
    }
  }

  function messages() {
    const all = data.diagnostics ?? [];
    byId("messages").hidden = all.length === 0;
    byId("messages").querySelector("ul").append(...all.map((one) =>
      element("li", {}, tag(one.severity), code(one.code), ` ${one.message}`)));
  }

  byId("title").textContent = document.title;
  byId("items-heading").textContent = page.heading;
  if (data.incomplete) {
    byId("incomplete").hidden = false;
    byId("incomplete").textContent = shown(`Incomplete: ${data.incomplete}`);
  }
  byId("counts").append(...page.counts().map(([name, number]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, number))));
  const isFlux = data.tool === "flux";
  const rules = isFlux ? data.ignore : data.ignoreDifferences;
  if ((rules ?? []).length > 0) {
    byId("rules").hidden = false;
    byId("rules-heading").textContent = `Rules for ${isFlux ? "Flux" : "Argo CD"}`;
    byId("rules-place").textContent = isFlux ? "spec.driftDetection of a HelmRelease, or spec of a Kustomization" : "spec of the application";
    byId("rules").querySelector("pre").textContent = shown(JSON.stringify(isFlux ? { ignore: rules } : { ignoreDifferences: rules }, null, 2));
  }
  const theme = byId("theme");
  const setTheme = (isDark) => {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    theme.setAttribute("aria-pressed", String(isDark));
  };
  theme.setAttribute("aria-pressed", String(matchMedia("(prefers-color-scheme: dark)").matches));
  theme.addEventListener("click", () => setTheme(theme.getAttribute("aria-pressed") !== "true"));
  byId("more").addEventListener("click", () => {
    const first = visible;
    more();
    // The new items are where the button was.
    byId("items").children[first]?.querySelector("summary").focus();
  });
  charts();
  filters();
  messages();
  search();
})();
