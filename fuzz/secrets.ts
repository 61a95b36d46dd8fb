/** What the texts that few may see are about. */
export const kinds = ['user', 'group', 'pool', 'record', 'person', 'file'] as const
/** `half`: numbers and a date of the work of which one caller sees the title. */
export type Kind = (typeof kinds)[number] | 'half'

/** The beginning of everything that the callers with few rights may not see; stands in no request of theirs. */
export const secret = 'zq7secret'
/** The text that stands in what is of the kind. */
export const secretOf = (kind: (typeof kinds)[number]): string => `${secret}${kind}`
export const secretNumber = 7310917
export const secretDate = '1371-07-13'

/** How any of it shows in an answer. */
const marks: readonly { text: string; kind: Kind }[] = [
  ...kinds.map((kind) => ({ text: secretOf(kind), kind })),
  { text: `${secretNumber}`, kind: 'half' },
  { text: secretDate, kind: 'half' },
]

/** Where the text tells something of other kinds than those that may be shown; negative: nowhere. */
export function secretIn(text: string, shown: readonly Kind[]): number {
  const place = Math.max(...marks.map((mark) => (shown.includes(mark.kind) ? -1 : text.indexOf(mark.text))))
  if (place >= 0) return place
  // A text that is cut after its beginning is of no kind, so it counts for those who may see none.
  return shown.length === 0 ? text.indexOf(secret) : -1
}
