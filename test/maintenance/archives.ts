import { readFile } from 'node:fs/promises'
import { Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { zstdDecompressSync } from 'node:zlib'
import { extract, type Headers, pack } from 'tar-stream'
import type { Json } from '../support/client.ts'

export interface Entry {
  readonly header: Headers
  readonly content: Buffer
}

/** What a command says. */
export const said = (): { out: Writable; text: () => string } => {
  const lines: string[] = []
  return {
    out: new Writable({
      write: (chunk, _encoding, done) => {
        lines.push(String(chunk))
        done()
      },
    }),
    text: () => lines.join(''),
  }
}

export async function entriesOf(path: string): Promise<Entry[]> {
  const archive = Readable.from([zstdDecompressSync(await readFile(path))]).pipe(extract())
  const entries: Entry[] = []
  for await (const entry of archive) entries.push({ header: { ...entry.header }, content: await buffer(entry) })
  return entries
}

export async function archiveOf(entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack()
  for (const { header, content } of entries) archive.entry(header, content)
  archive.finalize()
  return buffer(archive)
}

export function changeJson(entries: readonly Entry[], name: string, change: (value: Json) => Json): Entry[] {
  return entries.map((entry) =>
    entry.header.name === name
      ? { header: { name }, content: Buffer.from(JSON.stringify(change(JSON.parse(entry.content.toString())))) }
      : entry,
  )
}
