// Formulas stand between \( and \) or \[ and \]; in notebooks between dollar signs.
window.MathJax = {
  tex: {
    inlineMath: [["\\(", "\\)"], ["$", "$"]],
    displayMath: [["\\[", "\\]"]],
    processEscapes: true,
  },
};
