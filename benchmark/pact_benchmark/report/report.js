"use strict";
document.documentElement.classList.add("js");

const contents = document.querySelector("nav details");
const wide = matchMedia("(min-width: 50.01rem)");
const fit = () => { contents.open = wide.matches; };
wide.addEventListener("change", fit);
fit();

for (const button of document.querySelectorAll("button.more")) {
  const all = button.textContent;
  button.addEventListener("click", () => {
    const open = document.getElementById(button.getAttribute("aria-controls")).classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? button.dataset.less : all;
  });
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const key = (row) => {
        const cell = row.cells[column];
        return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
      };
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (typeof x === "number" && typeof y === "number") return sign * (x - y);
        if (typeof x === "number") return -1;
        if (typeof y === "number") return 1;
        return sign * x.localeCompare(y);
      };
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort(compare));
    });
  });
}
