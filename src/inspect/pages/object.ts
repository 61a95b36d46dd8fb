import type { Model } from '../../datamodel/model.ts'
import { datamodelVersions } from '../../datamodel/service.ts'
import { type InspectedObject, inspectObject, inspectTitles, requeueObjects } from '../../objects/service.ts'
import { AppError } from '../../platform/errors.ts'
import type { ConsolePage } from '../model.ts'
import { notThere, pathId } from '../query.ts'
import type { PageDeps } from './deps.ts'
import { namesFor } from './names.ts'
import { objectContent } from './object-content.ts'
import { storedFields } from './stored-fields.ts'

type Deps = Pick<PageDeps, 'db' | 'datamodel' | 'pools' | 'baseConfig' | 'index' | 'wakeIndex'>

/** Maximum number of versions, links and datamodels on one page. */
const most = 200
const largestVersion = 2 ** 31 - 1

/** One object, with the names of any version of the datamodel. */
export function objectPage(deps: Deps): ConsolePage {
  const { db, datamodel } = deps
  return {
    path: 'objects/:systemObjectId',
    section: 'objects',
    query: ['datamodel'],
    members: [
      'ReindexSystemObjectIds',
      'DatamodelSelect',
      'CurrentDatamodelId',
      'RenderingDatamodelId',
      'ObjectDatamodelId',
      'LatestLinked',
      'Warning',
    ],
    async load({ params, query }) {
      const id = pathId(params.systemObjectId, 'systemObjectId')
      const languages = deps.baseConfig.databaseLanguages()
      const record = await inspectObject(db, id, { languages, most })
      if (!record) throw notThere({ systemObjectId: id })
      const ownVersion = record.versions[0]?.datamodel ?? 0
      const current = datamodel.current()
      const wanted = query.integer('datamodel', { least: 0, most: largestVersion })
      const [versions, shown, saved] = await Promise.all([
        datamodelVersions(db, most),
        wanted === null ? current : datamodel.version(wanted),
        knownVersion(deps, ownVersion),
      ])
      const stored = storedFields(record.content, record.head.objecttype, { shown, saved })
      const linkedTo = await inspectTitles(db, stored.links.slice(0, most), languages)
      const names = await namesFor(deps, [
        record.head.ownerUser,
        record.head.createdBy,
        ...record.versions.map(({ byUser }) => byUser),
      ])
      const warning = warningOf({
        shown,
        saved,
        ownVersion,
        lost: stored.fields.some((one) => one.difference === 'gone'),
      })
      const dependents = [...new Set(record.linkedFrom.map((link) => link.id))].filter((one) => one !== id)
      return {
        json: {
          ReindexSystemObjectIds: [id, ...dependents],
          DatamodelSelect: versions.map(({ version, committed_at }) => ({
            version,
            committed_at,
            current: version === current.version,
            of_object: version === ownVersion,
          })),
          CurrentDatamodelId: current.version,
          RenderingDatamodelId: shown.version,
          ObjectDatamodelId: ownVersion,
          LatestLinked: linkedOf(linkedTo, names.objecttype),
          Warning: warning,
        },
        title: ({ text }) => `${text('object')} ${id}`,
        show: (view) =>
          objectContent(view, {
            record,
            stored,
            linkedTo,
            versions,
            shown,
            ownVersion,
            current: current.version,
            warning,
            names,
            dependents,
          }),
      }
    },
    actions: {
      reindex: async ({ params }) => reindex(deps, [pathId(params.systemObjectId, 'systemObjectId')]),
      async reindexLinked(context) {
        const id = pathId(context.params.systemObjectId, 'systemObjectId')
        const record = await inspectObject(db, id, { languages: [], most })
        return reindex(deps, [id, ...(record?.linkedFrom ?? []).map((link) => link.id)])
      },
    },
  }
}

async function reindex({ db, index, wakeIndex }: Deps, ids: readonly number[]) {
  const queued = await db.transaction(async (tx) => {
    const found = await requeueObjects(tx, [...new Set(ids)], wakeIndex)
    // Their index documents are written again, even if they seem current.
    await index.target.distrust(tx, found)
    return found
  })
  if (queued.length === 0) throw notThere({ systemObjectId: ids[0] })
  return { said: 'done.reindex' } as const
}

/** A deleted version has no names: the page still shows those of the others. */
async function knownVersion({ datamodel }: Deps, version: number): Promise<Model | null> {
  return datamodel.version(version).catch((error: unknown) => {
    if (error instanceof AppError) return null
    throw error
  })
}

interface Compared {
  readonly shown: Model
  readonly saved: Model | null
  readonly ownVersion: number
  readonly lost: boolean
}

function warningOf({ shown, saved, ownVersion, lost }: Compared): string {
  if (!saved) return `The datamodel version ${ownVersion}, with which the object was saved, is not there any more.`
  if (lost) return `The datamodel version ${shown.version} does not have all columns that the object has values in.`
  return ''
}

function linkedOf(linked: readonly InspectedObject[], nameOf: (id: number) => string): Record<string, object> {
  return Object.fromEntries(
    linked.map(({ id, objecttype, version, title }) => [id, { objecttype: nameOf(objecttype), version, title }]),
  )
}
