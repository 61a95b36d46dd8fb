import { createWriteStream } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { readRecords, sourceFile, type TateArtwork } from '../src/import/tate/records.ts'

/** Far above every id of the collection. */
const idDistance = 10_000_000

/**
 * The artworks of `source` several times over with changed ids and numbers, and its artists once, in `target`. The title of each copy
 * has one more word, so that words, titles and the dictionary are not those of a small collection: a larger one has more of them, most
 * of them rare. No word of the source gets more frequent by that.
 */
export async function multiply(source: string, target: string, copies: number): Promise<void> {
  const artworks = await sourceFile(source, 'artworks')
  const artists = await sourceFile(source, 'artists')
  if (!artworks || !artists) throw new Error(`${source} is no folder with artworks and artists`)
  await copyFile(artists, join(target, basename(artists)))
  await pipeline(Readable.from(lines(artworks, copies)), createWriteStream(join(target, 'artworks.jsonl')))
}

async function* lines(file: string, copies: number): AsyncIterable<string> {
  for (let copy = 0; copy < copies; copy++) {
    let some = ''
    for await (const record of readRecords<TateArtwork>(file)) {
      some += `${JSON.stringify(copy === 0 ? record : copyOf(record, copy))}\n`
      if (some.length > 1_000_000) {
        yield some
        some = ''
      }
    }
    yield some
  }
}

const copyOf = (record: TateArtwork, copy: number): TateArtwork => ({
  ...record,
  id: record.id + copy * idDistance,
  acno: `${record.acno}-${copy + 1}`,
  title: titleOfCopy(record, copy),
})

/** Endings of new words: no word of a title ends so. Five give a million objects four times as many words as 69,000. */
const endings = ['qab', 'qed', 'qil', 'qon', 'qur']

/** The title with the longest of its words again, which has another ending now. */
export function titleOfCopy({ id, title }: Pick<TateArtwork, 'id' | 'title'>, copy: number): string {
  const words = title.toLowerCase().match(/\p{L}{3,}/gu) ?? []
  const longest = words.reduce((one, other) => (other.length > one.length ? other : one), '')
  return longest === '' ? title : `${title} ${longest}${endings[(id + copy) % endings.length]}`
}
