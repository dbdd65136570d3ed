"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name in element && name !== "list") element[name] = value; else element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const redraw = [];

$("theme").onclick = () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  redraw.forEach((draw) => draw());
};

// --- Block map: a code is truth + 3 * visit -----------------------------------
const CODES = {
  0: ["none", "nothing visible, skipped"],
  8: ["all", "all visible, without mask arithmetic"],
  4: ["some", "some visible, masked"],
  5: ["unneeded", "all visible, masked all the same (or the sequence ends in it)"],
  3: ["waste", "nothing visible, visited all the same"],
  1: ["wrong", "some visible, skipped"], 2: ["wrong", "all visible, skipped"],
  6: ["wrong", "nothing visible, not masked"], 7: ["wrong", "some visible, not masked"],
};
function blockMap() {
  if (!data.maps.length) return;
  const canvas = $("map"), pick = $("which");
  data.maps.forEach((map, n) => pick.append(make("option", {value: n, textContent: `sequence ${map.entry}, head ${map.head}`})));
  pick.parentElement.hidden = data.maps.length < 2;
  const legend = $("maplegend");
  function draw() {
    const map = data.maps[pick.value || 0], rows = map.rows.length, columns = Math.max(...map.rows.map((r) => r.length), 1);
    const width = Math.min(620, Math.max(canvas.parentElement.clientWidth - 4, 200));
    const height = Math.max(60, Math.min(620, width * map.queries / Math.max(map.keys, 1)));
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale; canvas.height = height * scale;
    canvas.style.width = width + "px"; canvas.style.height = height + "px";
    const paint = canvas.getContext("2d");
    const w = canvas.width / columns, h = canvas.height / rows, gap = Math.min(w, h) > 7 ? 1 : 0;
    const counts = {};
    paint.fillStyle = colour("panel"); paint.fillRect(0, 0, canvas.width, canvas.height);
    map.rows.forEach((row, i) => [...row].forEach((code, j) => {
      counts[code] = (counts[code] || 0) + 1;
      paint.fillStyle = colour(CODES[code][0]);
      const x = Math.round(j * w), y = Math.round(i * h);
      paint.fillRect(x, y, Math.max(Math.round((j + 1) * w) - x - gap, 1), Math.max(Math.round((i + 1) * h) - y - gap, 1));
    }));
    const total = Object.values(counts).reduce((a, b) => a + b, 0);
    const visited = total - [0, 1, 2].reduce((sum, code) => sum + (counts[code] || 0), 0);
    legend.replaceChildren(make("tr", {}, make("th", {textContent: `blocks of ${map.block[0]} queries by ${map.block[1]} keys`}), make("th", {className: "n", textContent: "blocks"}), make("th", {className: "n", textContent: "share"})),
      ...[8, 4, 5, 3, 0, 1, 2, 6, 7].filter((code) => counts[code]).map((code) => make("tr", {},
        make("td", {}, make("span", {className: "swatch", style: `background:var(--${CODES[code][0]})`}), CODES[code][1]),
        make("td", {className: "n", textContent: counts[code]}), make("td", {className: "n", textContent: (100 * counts[code] / total).toFixed(1) + " %"}))),
      make("tr", {}, make("th", {textContent: "visited"}), make("th", {className: "n", textContent: visited}), make("th", {className: "n", textContent: (100 * visited / total).toFixed(1) + " %"})));
    canvas.onmousemove = (event) => {
      const box = canvas.getBoundingClientRect();
      const j = Math.floor((event.clientX - box.left) / box.width * columns), i = Math.floor((event.clientY - box.top) / box.height * rows);
      const code = (map.rows[i] || "")[j];
      if (code === undefined) return;
      const [m, n] = map.block;
      $("mapwhere").textContent = `queries ${i * m} to ${Math.min((i + 1) * m, map.queries) - 1}, keys ${j * n} to ${Math.min((j + 1) * n, map.keys) - 1}: ${CODES[code][1]}`;
    };
  }
  pick.onchange = draw;
  redraw.push(draw);
  addEventListener("resize", draw);
  draw();
}

// --- Timeline -----------------------------------------------------------------
const KINDS = {
  copy_q: "copy of Q", copy_k: "copy of K", copy_v: "copy of V", copy: "other copies", qk: "Q K^T", pv: "P V", softmax: "softmax",
  masked: "softmax with masks", other: "other arithmetic", load: "loads", store: "stores", wait: "waits",
};
function timeline() {
  const facts = data.timeline;
  if (!facts || !facts.spans.length) { $("timeline").hidden = true; return; }
  const known = (kind) => (kind in KINDS ? kind : "copy");
  const lanes = facts.lanes, left = 104, height = 26, top = 22;
  const svg = (tag, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const used = new Set(facts.spans.map((span) => known(span.kind)));
  $("timelegend").replaceChildren(...Object.keys(KINDS).filter((kind) => used.has(kind)).map((kind) =>
    make("span", {}, make("span", {className: "swatch", style: `background:var(--${kind})`}), KINDS[kind])));
  const zoom = $("zoom");
  function draw() {
    const box = $("lanes"), shown = Math.max(box.clientWidth - left - 68, 200);
    const scale = shown / facts.clocks * zoom.value, width = facts.clocks * scale + left + 64;
    const picture = svg("svg", {width, height: top + lanes.length * height + 4, role: "img"});
    const step = [100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000].find((s) => s * scale > 70) || 200000;
    for (let t = 0; t <= facts.clocks; t += step) {
      picture.append(svg("line", {x1: left + t * scale, x2: left + t * scale, y1: top - 4, y2: top + lanes.length * height, stroke: "var(--line)"}),
        svg("text", {x: left + t * scale + 3, y: 13, class: "faint"}, t));
    }
    picture.append(svg("text", {x: 6, y: 13, class: "faint"}, "clocks"));
    lanes.forEach((lane, n) => picture.append(svg("text", {x: 6, y: top + n * height + 16}, lane)));
    // Copies overlap: they are drawn in slim rows, one below the other.
    const rows = {};
    for (const span of facts.spans) {
      const lane = lanes.indexOf(span.lane), kind = known(span.kind);
      let y = top + lane * height + 3, h = height - 6;
      if (span.lane === "copies") {
        const free = (rows.copies = rows.copies || [0, 0, 0, 0]);
        let row = free.findIndex((end) => end <= span.begin);
        if (row < 0) row = free.indexOf(Math.min(...free));
        free[row] = span.end;
        h = (height - 6) / 4; y += row * h; h -= 0.5;
      }
      const rect = svg("rect", {x: left + span.begin * scale, y, width: Math.max((span.end - span.begin) * scale - 0.4, 0.6), height: h, fill: `var(--${kind})`});
      rect.append(svg("title", {}, `${span.text}\n${Math.round(span.begin)} to ${Math.round(span.end)}: ${Math.round(span.end - span.begin)} clocks`));
      picture.append(rect);
    }
    box.replaceChildren(picture);
  }
  zoom.oninput = draw;
  addEventListener("resize", draw);
  draw();
}

// --- IR -----------------------------------------------------------------------
const TOPICS = {
  products: /\battn\.forward\b|\btile\.dot\b|\bwarp\.dot(_into)?\b|wgmma\.mma_async|\bmma\.sync|mma\.m16n8k16|nvvm\.mma/,
  copies: /\btile\.load\b|\bwarp\.copy\b|cp\.async\.(bulk|cg|ca)|cp\.async\.bulk|cp\.async\.shared/,
  waits: /producer_acquire|producer_commit|consumer_(wait|release)|dot_wait|(begin|end)_turn|mbarrier|\bbar\.|barrier|wait_group|fence/,
  "special functions": /math\.(exp2|exp|tanh|log2|rsqrt)|ex2\.approx|tanh\.approx|lg2\.approx|arith\.divf|rcp\.approx/,
  masks: /arith\.(cmpi|cmpf|select)\b|\bsetp\.|\bselp\.|\bicmp\b|\bfcmp\b|llvm\.(icmp|fcmp|select)/,
  reductions: /tile\.reduce|shfl\.sync|redux|warp\.any|vote\./,
  stores: /tile\.store|st\.global|st\.shared|nvvm\.stmatrix|stmatrix/,
  loops: /scf\.(for|while|if|condition)|\bbra\b|\bbr i1\b|llvm\.cond_br|cf\.cond_br/,
};
const HUES = {products: "qk", copies: "copy_v", waits: "other", "special functions": "softmax", masks: "masked", reductions: "copy_q", stores: "store", loops: "copy"};
const escapeText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const decorate = (text) => escapeText(text)
  .replace(/(^\s*(?:\/\/|;).*$)/, '<span class="c">$1</span>')
  .replace(/(%[\w#.-]+)/g, '<span class="v">$1</span>')
  .replace(/(^\s*(?:&lt;?\S+ = )?|= )((?:attn|tile|warp|scf|arith|math|nvvm|llvm|gpu|vector|memref|tensor)\.[\w.]+)/g, '$1<span class="o">$2</span>');
const CONSTANT = /^\s*%\S+ = (arith\.constant|llvm\.mlir\.constant)\b/;
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
/** Lines as a tree: what is indented more belongs to the line above. */
function parse(text) {
  const lines = text.replace(/\n+$/, "").split("\n").map((line) => line.replace(/\t/g, "  ")), root = {children: [], indent: -1}, stack = [root];
  let size = 0;
  for (const line of lines) {
    if (!line.trim()) continue;
    const indent = line.search(/\S/), topic = Object.keys(TOPICS).find((name) => TOPICS[name].test(line));
    while (stack[stack.length - 1].indent >= indent) stack.pop();
    const node = {line, indent, topic, children: [], depth: stack.length - 1, number: ++size};
    stack[stack.length - 1].children.push(node);
    stack.push(node);
  }
  const gather = (node) => {
    const result = [];
    for (const child of node.children) {
      gather(child);
      const last = result[result.length - 1];
      if (!CONSTANT.test(child.line)) result.push(child);
      else if (last && last.constants) last.children.push(child);
      else result.push({...child, line: " ".repeat(child.indent) + "// constants", constants: true, topic: undefined, children: [child]});
    }
    node.children = result.map((child) => (child.constants && child.children.length < 4 ? child.children : [child])).flat();
  };
  gather(root);
  const count = (node) => (node.size = node.children.reduce((sum, child) => sum + 1 + count(child), 0));
  count(root);
  return root;
}
const trees = {};
const tree = (level) => (trees[level] = trees[level] || unpack(data.levels[level]).then(parse));
let chosen = null;
function lineElement(node, open) {
  const long = node.line.length > 2000;
  const element = make("div", {className: "l" + (node.children.length ? " fold" + (open ? "" : " shut") : "")});
  element.innerHTML = decorate(long ? node.line.slice(0, 2000) + " ..." : node.line) + (node.children.length && !open ? ` <span class="more">... ${node.size} lines</span>` : "");
  if (node.topic) element.style.borderLeftColor = `var(--${HUES[node.topic]})`;
  return element;
}
function appendNode(parent, node, limits) {
  if (chosen) {
    const inside = (n) => n.topic === chosen || n.children.some(inside);
    if (!inside(node)) return;
    parent.append(lineElement(node, true));
    node.children.forEach((child) => appendNode(parent, child, limits));
    return;
  }
  const open = (node.depth < limits.depth && !node.constants) || node.size <= limits.size;
  const element = lineElement(node, open);
  parent.append(element);
  if (!node.children.length) return;
  const body = make("div");
  parent.append(body);
  const fill = () => node.children.forEach((child) => appendNode(body, child, limits));
  if (open) fill();
  element.onclick = () => {
    const shut = !element.classList.contains("shut");
    const fresh = lineElement(node, !shut);
    element.className = fresh.className; element.innerHTML = fresh.innerHTML;
    if (shut) body.replaceChildren(); else fill();
  };
}
async function fillPane(pane) {
  const level = pane.querySelector("select").value, root = await tree(level), target = pane.querySelector(".ir");
  const list = make("div");
  root.children.forEach((node) => appendNode(list, node, {depth: level === "ptx" || level === "llvm" ? 0 : level === "attn" ? 9 : 3, size: 6}));
  target.replaceChildren(list);
  const counts = {};
  const walk = (node) => { if (node.topic) counts[node.topic] = (counts[node.topic] || 0) + 1; node.children.forEach(walk); };
  walk(root);
  pane.querySelector(".count").textContent = chosen ? `${counts[chosen] || 0} of ${root.size} lines` : `${root.size} lines`;
}
function ir() {
  const names = Object.keys(data.levels), panes = [...document.querySelectorAll(".pane")];
  panes.forEach((pane, n) => {
    const pick = pane.querySelector("select");
    names.forEach((name) => pick.append(make("option", {value: name, textContent: name})));
    pick.value = names[Math.min(n, names.length - 1)];
    pick.onchange = () => fillPane(pane);
  });
  const topics = $("topics");
  for (const name of Object.keys(TOPICS)) {
    const button = make("button", {type: "button"}, make("span", {className: "swatch", style: `background:var(--${HUES[name]})`}), name);
    button.setAttribute("aria-pressed", "false");
    button.onclick = () => {
      chosen = chosen === name ? null : name;
      topics.querySelectorAll("button").forEach((b) => b.setAttribute("aria-pressed", String(b === button && chosen === name)));
      panes.forEach(fillPane);
    };
    topics.append(button);
  }
  const section = $("ir"), start = () => { if (section.open && !section.dataset.done) { section.dataset.done = 1; panes.forEach(fillPane); } };
  section.addEventListener("toggle", start);
  start();
}
blockMap();
timeline();
ir();
