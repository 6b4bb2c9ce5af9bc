// SPDX-License-Identifier: MIT
// Shows what the page has in it.
window.hewFlame(document.getElementById("flame"), document)(JSON.parse(document.getElementById("data").textContent));
