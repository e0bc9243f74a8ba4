for (const chart of document.querySelectorAll(".chart")) {
  const says = chart.querySelector(".says");
  const bands = [...chart.querySelectorAll(".band")];
  const text = (shape) => shape.querySelector("title").textContent;
  const rest = () => { says.textContent = says.dataset.rest; };
  for (const shape of chart.querySelectorAll(".band, .column, .tail")) {
    shape.addEventListener("pointerenter", () => { says.textContent = text(shape); });
    shape.addEventListener("pointerleave", rest);
  }
  bands.forEach((band, number) => {
    band.tabIndex = number ? -1 : 0;
    band.addEventListener("focus", () => { says.textContent = text(band); });
    band.addEventListener("blur", rest);
    band.addEventListener("keydown", (event) => {
      const to = { ArrowRight: number + 1, ArrowDown: number + 1, ArrowLeft: number - 1, ArrowUp: number - 1,
                   Home: 0, End: bands.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = bands[Math.min(Math.max(to, 0), bands.length - 1)];
      for (const other of bands) other.tabIndex = other === next ? 0 : -1;
      next.focus();
    });
  });
}
const closed = new Set();
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not([open])")) { part.open = true; closed.add(part); }
});
addEventListener("afterprint", () => {
  for (const part of closed) part.open = false;
  closed.clear();
});
