/**
 * The known name that is most like a mistyped one, for "did you mean"; null when none is similar. A short name may have fewer wrong
 * letters, since otherwise every name would be similar.
 */
export function nearestName(
  name: string,
  known: Iterable<string>,
  most = Math.min(3, Math.ceil(name.length / 3)),
): string | null {
  let best: string | null = null
  let least = most + 1
  for (const candidate of known) {
    // Names with such different lengths cannot be more similar.
    if (Math.abs(candidate.length - name.length) >= least) continue
    const distance = editDistance(name, candidate, least)
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}

/** Levenshtein distance: the number of letters to insert, delete or replace; the search stops at `most`. */
function editDistance(a: string, b: string, most: number): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const distance = Math.min(substitution, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1)
      row.push(distance)
      if (distance < least) least = distance
    }
    // Later rows never have a smaller value.
    if (least >= most) return most
    previous = row
  }
  return previous[b.length] ?? 0
}
