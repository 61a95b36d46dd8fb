import { availableParallelism } from 'node:os'
import type { Actor } from '../platform/actor.ts'
import type { Config } from '../platform/config/config.ts'
import { AppError } from '../platform/errors.ts'
import { type NeededRight, requireRight } from '../platform/http/system-right.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { Build } from '../platform/version.ts'
import type { HomeState } from './pages/home.ts'
import type { Settings, SystemStats, TypeStats } from './schema.ts'
import * as store from './store.ts'

/** Name of the index in the statistics; there is one, in the database itself. */
const indexName = 'objects'

export const readStatus: NeededRight = { name: 'system.root' }

export type SystemService = ReturnType<typeof createSystemService>

interface StatusCertificate {
  readonly of: string
  readonly subject: string
  readonly validTo: string
  readonly expiring: boolean
}

export interface SystemDeps {
  config: Config
  db: Db
  version: string
  /** The source of the package; null: the service runs from a checkout. */
  build: Build | null
  /** Whether everything that changes stored data is refused. */
  readOnly: () => boolean
  /** Name of the instance in the base configuration; empty when none is set. */
  instanceName: () => string
  /** Internal name of the instance in the base configuration; empty when none is set. */
  configName: () => string
  /** Whether searches wait until objects are indexed again. */
  searchBlocked: () => Promise<boolean>
  /** Whether callers without a user may read the description of the interface. */
  openApiForEverybody: () => boolean
  /** The index that searches use. */
  searchIndex: {
    /** Number of live objects in the index, by object type. */
    count(db: Db): Promise<ReadonlyMap<number, number>>
    /** Bytes of the index. */
    size(db: Db): Promise<number>
    /** Whether full-text searches are slow for a while, since a backlog is being processed. */
    isRebuilding(db: Db): Promise<boolean>
  }
  /** Certificates that sign-ins depend on. */
  certificates: () => Promise<readonly StatusCertificate[]>
  /** Name of an object type of the committed datamodel. */
  objecttypeName: (id: number) => string | undefined
}

export function createSystemService(deps: SystemDeps) {
  const { config, db, version } = deps
  const started = new Date()
  return {
    settings(): Settings {
      return {
        name: deps.instanceName() || config.databaseName,
        config_name: deps.configName(),
        instance: config.databaseName,
        version,
        version_full: `strongroom ${version} (Node ${process.versions.node})`,
        ...(deps.build ? builtFrom(deps.build) : {}),
        external_url: config.externalUrl,
        startup_time: started.toISOString(),
        num_cpu: availableParallelism(),
        index_names: { objects: indexName },
        capabilities: {
          auth: true,
          read_only: deps.readOnly(),
          geo_support: true,
          kubernetes: false,
          two_factor: true,
          ci_hub: false,
          linkrui: false,
          mobile_app: false,
        },
      }
    },

    /** The state of the service in one word, as in the header `X-Svc-Status`: searches wait during `reindex`. */
    lifecycle: async (): Promise<'ready' | 'reindex'> => ((await deps.searchBlocked()) ? 'reindex' : 'ready'),

    /** @throws {AppError} `SystemRightRequired` without `system.root`. */
    async status(actor: Actor): Promise<SystemStats> {
      requireRight(actor, readStatus)
      const [counts, indexed, waiting, baseTypes, bytes, rebuilding, certificates, files] = await Promise.all([
        store.countObjects(db),
        deps.searchIndex.count(db),
        store.countWaiting(db),
        store.countBaseTypes(db),
        deps.searchIndex.size(db),
        deps.searchIndex.isRebuilding(db),
        deps.certificates(),
        store.countFiles(db),
      ])
      const all = counts.reduce((sum, { total }) => sum + total, 0)
      const sizes = await store.averageSizes(db, all)
      const objecttypes = counts.map(({ objecttype, total, failed }) => ({
        ...typeStats(deps.objecttypeName(objecttype) ?? `${objecttype}`, {
          total,
          // The two numbers are counted at different moments.
          indexed: Math.min(total, indexed.get(objecttype) ?? 0),
          failed,
        }),
        ...sizeStats(total, sizes.get(objecttype)),
      }))
      return {
        objecttypes,
        // Base types are searched in their own tables: all stored records are found.
        basetypes: Object.entries(baseTypes).map(([name, total]) =>
          typeStats(name, { total, indexed: total, failed: 0 }),
        ),
        indices_objects: {
          [indexName]: Object.fromEntries(objecttypes.map((type) => [type.type_name, type.indexed_count])),
        },
        indices_stats: [{ name: indexName, index: indexName, size: `${bytes}`, rebuilding }],
        total_not_indexed: waiting,
        pending_files: files.pending,
        queued_files: files.queued,
        file_stats: files.stats,
        certificates: certificates.map(({ validTo, ...rest }) => ({ ...rest, valid_to: validTo })),
      }
    },

    /** The state on the home page of the service. */
    async home(actor: Actor | null): Promise<HomeState> {
      const ready = await db.query('select 1').then(
        () => true,
        () => false,
      )
      return { settings: this.settings(), ready, openApi: actor !== null || deps.openApiForEverybody() }
    },

    /** @throws {AppError} `InsufficientRights` for callers without a user, when the page is not for everybody. */
    requireOpenApiAccess(actor: Actor | null): void {
      if (!actor && !deps.openApiForEverybody()) throw new AppError('InsufficientRights')
    },
  }
}

/** Without an object of the type in the sample the size is not known. */
function sizeStats(total: number, average: number | undefined): Partial<TypeStats> {
  return average === undefined ? {} : { avg_size: average, total_size: average * total }
}

function builtFrom({ date, commit, commitTime }: Build): Partial<Settings> {
  return {
    version_release_date: date,
    ...(commit && commitTime ? { build_commit: commit, build_commit_time: commitTime } : {}),
  }
}

function typeStats(
  name: string,
  { total, indexed, failed }: { readonly total: number; readonly indexed: number; readonly failed: number },
): TypeStats {
  return {
    type_name: name,
    total_count: total,
    indexed_count: indexed,
    not_indexed_count: Math.max(0, total - indexed - failed),
    error_count: failed,
  }
}
