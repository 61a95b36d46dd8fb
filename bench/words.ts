import { readRecords, sourceFile, type TateArtwork } from '../src/import/tate/records.ts'

/** Draws words from titles at random: a random title, then a random word of it, so common words come often. */
export async function titleWords(source: string): Promise<() => string> {
  const file = await sourceFile(source, 'artworks')
  if (!file) throw new Error(`${source} has no artworks`)
  const titles: string[][] = []
  for await (const { title } of readRecords<TateArtwork>(file)) {
    const words = title.toLowerCase().match(/\p{L}{3,}/gu)
    if (words) titles.push(words)
  }
  const any = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T
  return () => any(any(titles))
}
