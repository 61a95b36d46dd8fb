/**
 * Publish records: objects that have been published at other places. The service records a publication; it neither makes
 * nor hosts it. A *collector* is a target of publications, named in the base configuration. A caller sees records only of
 * objects that it may read. See docs/publish.md.
 */
import type { BaseConfigService } from '../config/service.ts'
import type { ReadService } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { type NeededRight, requireRight } from '../platform/http/system-right.ts'
import type { Db } from '../platform/postgres/db.ts'
import { assertStorable } from '../platform/values/text.ts'
import { checkPublications } from './check.ts'
import { renderInObject, renderPublication } from './render.ts'
import type { PublishInput, PublishOutput } from './schema.ts'
import * as store from './store.ts'

export { heldLogos } from './logos.ts'

const right = (parameter: string): NeededRight => ({ name: 'system.api.publish', parameter })
export const readPublications = right('get')
export const writePublications = right('post')
export const deletePublications = right('delete')

export interface PublishDeps {
  readonly db: Db
  readonly baseConfig: Pick<BaseConfigService, 'get'>
  readonly read: Pick<ReadService, 'readableSql' | 'latestVersions'>
  /** Alternatives to the word `svc` in names. */
  readonly words: readonly string[]
  /** The deep link of an object. */
  readonly linkOf: (uuid: string) => string
}

export type PublishService = ReturnType<typeof createPublishService>

export function createPublishService({ db, baseConfig, read, words, linkOf }: PublishDeps) {
  return {
    async list(actor: Actor, page: { limit: number; offset: number }): Promise<PublishOutput[]> {
      requireRight(actor, readPublications)
      return (await store.listPublications(db, await read.readableSql(actor), page)).map(renderPublication)
    },

    /** One record, or none. */
    async find(actor: Actor, id: number): Promise<PublishOutput[]> {
      requireRight(actor, readPublications)
      return (await store.findPublications(db, await read.readableSql(actor), [id])).map(renderPublication)
    },

    /** Makes and changes records, all or none; returns them as stored, in order. */
    async save(actor: Actor, sent: readonly PublishInput[]): Promise<PublishOutput[]> {
      requireRight(actor, writePublications)
      assertStorable(sent, 'body')
      if (sent.length === 0) return []
      const rows = await db.transaction(async (tx) => {
        const ids = sent.flatMap(({ publish }) => publish._id || [])
        const stored = await store.lockPublications(tx, ids)
        const wanted = sent.map(({ publish }) => publish.system_object_id)
        const objects = await read.latestVersions(tx, actor, [...new Set([...wanted, ...stored.values()])])
        const known = new Map([...stored].filter(([, object]) => objects.has(object)))
        const collectors = new Set(baseConfig.get().publish.collectors.map(({ internalname }) => internalname))
        return store.writePublications(
          tx,
          checkPublications(sent, { objects, stored: known, collectors, words: ['native', ...words], linkOf }),
        )
      })
      return rows.map(renderPublication)
    },

    /** Deletes a record, if it exists and the caller may see it. */
    async remove(actor: Actor, id: number): Promise<void> {
      requireRight(actor, deletePublications)
      await db.transaction(async (tx) => {
        const object = (await store.lockPublications(tx, [id])).get(id)
        if (object === undefined || !(await read.latestVersions(tx, actor, [object])).has(object)) return
        await store.deletePublication(tx, id)
      })
    },
  }
}

/** The records of objects, for answers with these. */
export async function publishedOf(q: Parameters<typeof store.publicationsOf>[0], systemObjectIds: readonly number[]) {
  const found = await store.publicationsOf(q, systemObjectIds)
  return new Map([...found].map(([id, own]) => [id, own.map(renderInObject)]))
}
