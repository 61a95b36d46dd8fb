/** An array parameter. The driver checks each element for characters to quote; numbers never have any. */
export function numbersText(numbers: Iterable<number>): string {
  return `{${[...numbers].join()}}`
}

/** The same for texts: ten thousand take 0.8 ms this way, 4.5 the first time; with the quoting of the driver 3 and 16. */
export function textsText(texts: readonly string[]): string {
  return `{${texts.map(quotedElement).join()}}`
}

function quotedElement(text: string): string {
  return /["\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`
}

export function booleansText(booleans: readonly boolean[]): string {
  return `{${booleans.map((each) => (each ? 't' : 'f')).join()}}`
}

/** Quotes an identifier that does not come from our own source text. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
