/** The kinds of data with texts that few callers may see. */
export const kinds = ['user', 'group', 'pool', 'record', 'person', 'file'] as const
/** `half`: numbers and a date of the work whose title one caller can see. */
export type Kind = (typeof kinds)[number] | 'half'

/** The beginning of all texts that the callers with few rights may not see; no request of theirs contains it. */
export const secret = 'zq7secret'
/** The secret text in data of the kind. */
export const secretOf = (kind: (typeof kinds)[number]): string => `${secret}${kind}`
export const secretNumber = 7310917
export const secretDate = '1371-07-13'

/** The texts by which secrets are recognised in an answer. */
const marks: readonly { text: string; kind: Kind }[] = [
  ...kinds.map((kind) => ({ text: secretOf(kind), kind })),
  { text: `${secretNumber}`, kind: 'half' },
  { text: secretDate, kind: 'half' },
]

/** The position of a secret of another kind than those that may be shown; negative: there is none. */
export function secretIn(text: string, shown: readonly Kind[]): number {
  const place = Math.max(...marks.map((mark) => (shown.includes(mark.kind) ? -1 : text.indexOf(mark.text))))
  if (place >= 0) return place
  // A text that is cut after its beginning has no kind, so it counts for callers who may see none.
  return shown.length === 0 ? text.indexOf(secret) : -1
}
