import type { Logger } from 'pino'
import type { EventLog } from '../../events/service.ts'
import type { Config } from '../../platform/config/config.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { createSeal } from '../../platform/secrets/seal.ts'
import { createSealedTexts } from '../../platform/secrets/sealed-texts.ts'
import { openStore } from '../locations/open.ts'
import { readLocations } from '../locations/store.ts'
import { createFixity, type FixityResult } from './service.ts'

/**
 * Reads every content, or every one of a location, while the service runs or without it.
 * @throws {Error} when there is no such location.
 */
export async function* verifyAll(
  {
    db,
    events,
    log,
    config,
  }: {
    readonly db: Db
    readonly events: EventLog
    readonly log: Pick<Logger, 'warn'>
    readonly config: Pick<Config, 'dataDir' | 'fileFolders' | 'secretKey' | 'secretKeyBefore'>
  },
  location: string | null,
): AsyncGenerator<(FixityResult & { readonly location: string })[]> {
  const all = await readLocations(db, createSealedTexts(createSeal(config)))
  const only = location === null ? null : all.find(({ name }) => name === location)
  if (only === undefined) throw new Error(`there is no location ${location}`)
  const folders = { dataDir: config.dataDir, folders: config.fileFolders }
  const stores = new Map(all.map((place) => [place.id, openStore(place, folders)]))
  const names = new Map(all.map(({ id, name }) => [id, name]))
  const storeOf = (id: number) => {
    const there = stores.get(id)
    if (!there) throw new Error(`there is no location ${id}`)
    return there
  }
  try {
    const fixity = createFixity({ db, events, log, locations: { all: () => all, storeOf } })
    for await (const results of fixity.all(only?.id ?? null)) {
      yield results.map((result) => ({ ...result, location: names.get(result.blob.locationId) ?? '' }))
    }
  } finally {
    for (const there of stores.values()) there.close()
  }
}
