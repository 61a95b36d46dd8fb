import { AppError } from '../../../platform/errors.ts'
import { createYielder, mapYielding } from '../../../platform/process/cooperative-yield.ts'
import { prepareCollations } from '../../document/collation.ts'
import { fieldsOf } from '../../plan/fields.ts'
import type { DocumentBatch, IndexTarget, SourceBatch } from '../../queue/target.ts'
import { Arena } from '../document/arena.ts'
import { createDocumentBuilder } from '../document/build.ts'
import type { SlotCache } from '../slots.ts'
import { createAccessSets } from './access-sets.ts'
import { isBulkOpen, openBulk } from './bulk.ts'
import { compareDocuments, distrust, readSurplus } from './compare.ts'
import { encode } from './encode.ts'
import { createFacetSets } from './facet-sets.ts'
import type { Renewal } from './renew.ts'
import * as store from './store.ts'
import { createTerms } from './terms.ts'
import * as tombstones from './tombstones.ts'

/** To be incremented when documents are built differently, so that existing ones are built again. */
const documentsVersion = 12

/** The version of the document builder: the versions of our code and of ICU, on which sort keys depend. */
export const builderOf = (icu: string): string => `${documentsVersion} ${icu}`

/** The index as tables of PostgreSQL. */
export function createPostgresTarget({
  slots,
  icu,
  renewal,
}: {
  slots: SlotCache
  icu: string
  renewal: Pick<Renewal, 'look'>
}): IndexTarget & { forgetAll(): void } {
  const facetSets = createFacetSets()
  const accessSets = createAccessSets('shared')
  const peopleSets = createAccessSets('people')
  const sets = { facets: facetSets, access: accessSets, people: peopleSets }
  const terms = createTerms()
  const arena = new Arena()
  /** The value of `set_removals` (prune-sets.ts) when the sets in memory were read; null: none are in memory. */
  let knownRemovals: number | null = null

  function forgetSets(): void {
    facetSets.forget()
    accessSets.forget()
    peopleSets.forget()
  }

  /** The numbers of sets in memory may have been removed: then nothing is written with them. */
  function assertSets(removals: number): void {
    if (removals === knownRemovals) return
    forgetSets()
    knownRemovals = removals
    throw new AppError('DatabaseLockError', { name: 'search_facet_set' })
  }

  async function make(db: Parameters<IndexTarget['make']>[0], batch: SourceBatch): Promise<DocumentBatch> {
    const { model, languages, ids, sources } = batch
    arena.reset()
    await prepareCollations(languages)
    const context = { ...batch, fields: fieldsOf(model), slots: await slots.of(model, languages), terms, arena }
    const built = await mapYielding(sources, createDocumentBuilder(context), createYielder())
    const documents = built.filter((document) => document !== null)
    knownRemovals ??= await store.readRemovals(db)
    await facetSets.load(
      db,
      documents.flatMap((document) => document.facets),
    )
    await accessSets.load(
      db,
      documents.map(({ shared }) => shared),
    )
    await peopleSets.load(
      db,
      documents.map(({ people }) => people),
    )
    await terms.flush(db)
    const indexed = await store.readIndexed(db, ids)
    const encoded = await mapYielding(documents, (document) => encode(document, sets, arena), createYielder())
    const fresh = encoded.filter((document) => indexed.get(document.id)?.digest !== document.digest)
    const keep = new Set(encoded.map((document) => document.id))
    const gone = [...indexed.keys()].filter((id) => !keep.has(id))
    const replaced = fresh.filter((document) => indexed.has(document.id))
    const moved = replaced.filter(({ id, place }) => indexed.get(id)?.place !== place)
    const changed = encoded.filter(({ id, shown, revised }) => {
      const before = indexed.get(id)
      // Not indexed before: others may show old data of it only if it was changed after its creation.
      return before === undefined ? revised : before.shown !== shown
    })
    const rehung = changed.filter(({ id, parentsHash }) => indexed.get(id)?.parentsHash !== parentsHash)
    return {
      changed: changed.map(({ id }) => id),
      rehung: rehung.map(({ id }) => id),
      async apply(connection) {
        const removed = [...gone, ...replaced.map(({ id }) => id)]
        const { generation, changedAt, removals } = await store.nextGeneration(connection.db, removed.length)
        assertSets(removals)
        const before = { removed, moved: [...gone, ...moved.map(({ id }) => id)], changedAt }
        await store.writeDocuments(connection.client, before, fresh)
        return generation
      },
      compare: (connection) => compareDocuments(connection.client, encoded),
    }
  }

  return {
    builder: builderOf(icu),
    warm: prepareCollations,
    /** A batch in progress belongs to the former database, and fails with its connection. */
    forgetAll() {
      forgetSets()
      terms.forget()
      knownRemovals = null
    },
    generation: store.readGeneration,
    make,
    async forget({ db }, ids) {
      const { generation } = await store.nextGeneration(db, ids.length)
      await tombstones.keep(db, ids)
      await store.removeDocuments(db, ids)
      return generation
    },
    expired: store.readExpired,
    leftovers: store.readLeftovers,
    surplus: readSurplus,
    distrust,
    forgetTombstones: tombstones.forget,
    followedSince: tombstones.followedSince,
    count: store.countDocuments,
    size: store.indexSize,
    openBacklog: openBulk,
    isRebuilding: isBulkOpen,
    async settle(db) {
      await store.settle(db)
      await renewal.look()
    },
  }
}
