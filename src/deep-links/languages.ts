/** Most language ranges that are read. */
const mostRanges = 20

/** Languages of data, with those that the browser asks for first (RFC 9110, section 12.5.4), with their regions or without. */
export function languagesFor(acceptLanguage: string | undefined, known: readonly string[]): readonly string[] {
  const ranges = (acceptLanguage ?? '')
    .slice(0, 1000)
    .toLowerCase()
    .split(',', mostRanges)
    .map((entry) => {
      const [range = '', ...parameters] = entry.split(';').map((part) => part.trim())
      const quality = parameters.find((one) => one.startsWith('q='))?.slice(2)
      return { range, quality: quality === undefined ? 1 : Number(quality) }
    })
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
  const primary = (tag: string): string => tag.split('-', 1)[0] ?? ''
  const asked = ranges.flatMap(({ range }) => [
    ...known.filter((tag) => tag.toLowerCase() === range),
    ...known.filter((tag) => primary(tag.toLowerCase()) === primary(range)),
  ])
  return [...new Set([...asked, ...known])]
}
