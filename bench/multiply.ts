import { createWriteStream } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { readRecords, sourceFile, type TateArtwork } from '../src/import/tate/records.ts'

/** Far above every id of the collection. */
const idDistance = 10_000_000

/** The artworks of `source` several times over with changed ids and numbers, and its artists once, in `target`. */
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
      const changed =
        copy === 0 ? record : { ...record, id: record.id + copy * idDistance, acno: `${record.acno}-${copy + 1}` }
      some += `${JSON.stringify(changed)}\n`
      if (some.length > 1_000_000) {
        yield some
        some = ''
      }
    }
    yield some
  }
}
