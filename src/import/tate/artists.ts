import { readRecords, type TateArtist } from './records.ts'

/** `sourceRecord` distinguishes records with the same Tate id: `9260`, `9260-2`. */
export interface NumberedArtist extends TateArtist {
  sourceRecord: string
}

/** The records of the artists, of all or of `wanted` Tate ids, in the order of the file. */
export async function readArtists(file: string, wanted: ReadonlySet<number> | null): Promise<NumberedArtist[]> {
  const artists: NumberedArtist[] = []
  const counts = new Map<number, number>()
  for await (const record of readRecords<TateArtist>(file)) {
    const count = (counts.get(record.id) ?? 0) + 1
    counts.set(record.id, count)
    if (wanted && !wanted.has(record.id)) continue
    artists.push({ ...record, sourceRecord: count === 1 ? String(record.id) : `${record.id}-${count}` })
  }
  return artists
}

/** System object ids by Tate id. Of two records of one artist, the one that is filed under a letter is preferred. */
export function artistIds(
  records: readonly NumberedArtist[],
  ids: ReadonlyMap<string | number, number>,
): Map<number, number> {
  const found = new Map<number, number>()
  for (const { id, sourceRecord, startLetter } of records) {
    const systemObjectId = ids.get(sourceRecord)
    if (systemObjectId !== undefined && (startLetter || !found.has(id))) found.set(id, systemObjectId)
  }
  return found
}
