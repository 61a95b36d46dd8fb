import { type ServiceClient, ServiceError } from '../client.ts'
import type { Influence } from './vocabulary.ts'

/**
 * Links between artists, when a work was made after another artist's: a row at one side; the service adds the opposite row. Objects
 * that have the row already are skipped.
 */
export async function linkInfluences(
  client: ServiceClient,
  influences: readonly Influence[],
  artists: ReadonlyMap<number, number>,
): Promise<void> {
  for (const [artist, sources] of groupByArtist(influences, artists)) await addSources(client, artist, sources)
}

const tries = 5

/** Another client may save the artist meanwhile; then the rows are added to the new version. */
async function addSources(client: ServiceClient, artist: number, sources: readonly number[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const path = `/db/artist/artist/system_object_id/${artist}`
    const [stored] = await client.get<StoredArtist[]>(path, { format: 'long' })
    const rows = stored?.artist['_nested:artist__influenced_by'] ?? []
    const known = new Set(rows.map((row) => row.artist?._system_object_id))
    const missing = sources.filter((id) => !known.has(id))
    if (!stored || missing.length === 0) return
    const added = missing.map((id) => ({ artist: { _objecttype: 'artist', _system_object_id: id } }))
    stored.artist['_nested:artist__influenced_by'] = [...rows, ...added]
    try {
      await client.post('/db/artist', [stored], { format: 'short' })
      return
    } catch (error) {
      if (attempt === tries || !(error instanceof ServiceError) || error.code !== 'VersionMismatch') throw error
    }
  }
}

interface StoredArtist {
  artist: { '_nested:artist__influenced_by'?: { artist?: { _system_object_id?: number } }[]; [field: string]: unknown }
  [field: string]: unknown
}

function groupByArtist(influences: readonly Influence[], ids: ReadonlyMap<number, number>): Map<number, number[]> {
  const groups = new Map<number, number[]>()
  for (const { artist, source } of influences) {
    const from = ids.get(artist)
    const to = ids.get(source)
    if (from !== undefined && to !== undefined) groups.set(from, [...(groups.get(from) ?? []), to])
  }
  return groups
}
