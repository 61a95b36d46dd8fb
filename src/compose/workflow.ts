import { isDeepStrictEqual } from 'node:util'
import { createBaseConfigAdministration } from '../config/administration.ts'
import { createFileService } from '../files/service.ts'
import { rememberedPeople } from '../objects/read/people.ts'
import { createFileCounts } from '../objects/upkeep/file-counts.ts'
import { createMarking, haveFiles } from '../objects/upkeep/file-marks.ts'
import { fileFigures } from '../objects/upkeep/file-stats.ts'
import { filesWithin, requeueUsers, seenUses } from '../objects/upkeep/file-uses.ts'
import { createFormerFiles, linkPolicies } from '../objects/upkeep/former-files.ts'
import { countInPools, objectPresetUse, objectTagUse, requeuePools } from '../objects/upkeep/uses.ts'
import { createObjecttypeService } from '../objecttypes/service.ts'
import { requireMayJoin, requireMayTrust } from '../people/service.ts'
import { outgoingLimits } from '../platform/outgoing/limits.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { createPoolService } from '../pools/service.ts'
import { type CallerRights, createPresetService } from '../rights/service.ts'
import { createTagService } from '../tags/service.ts'
import { createTransitionService } from '../transitions/service.ts'
import { createWebhookService } from '../webhooks/service.ts'
import type { Given, Ground } from './ground.ts'
import type { Kept } from './kept.ts'
import type { People } from './people.ts'

/** The system user that callers without a token are (migration 0010). */
const deepLinkUserId = 2

export type Workflow = Awaited<ReturnType<typeof composeWorkflow>>

/** What is said of cleaning up: in the base configuration, by pools, by object types without pools. */
export function janitorSettings({ baseConfig, datamodel, objecttypes, pools }: Kept) {
  return {
    removal: baseConfig.get().janitor.object_and_file_removal,
    pools: pools.snapshot(),
    objecttypes: [...datamodel.current().objecttypes.values()]
      .filter(({ poolLink }) => !poolLink)
      .map(({ id }) => ({ id, settings: objecttypes.settings(id) })),
  }
}

/** The rights of those of the users who may act now. */
async function rightsOfUsers(
  { rights, signIn }: Pick<People, 'rights' | 'signIn'>,
  from: Queryable,
  ids: readonly number[],
) {
  const callers = new Map<number, CallerRights>()
  for (const [id, actor] of await signIn.actorsOf(from, ids)) callers.set(id, await rights.forActor(actor))
  return callers
}

/** What administrators set up around objects: configuration, transitions, object types, pools, tags. */
export async function composeWorkflow(
  given: Given,
  ground: Ground,
  kept: Kept,
  { principals, rights, personRights, signIn, conventionOf }: People,
  opened: AsyncDisposableStack,
) {
  const { config, db } = given
  const { bus, seal, jobs, snapshots, queued } = ground
  const { baseConfig, datamodel, events, languages, objecttypes, pools, tags } = kept
  const files = await createFileService({
    db,
    seal,
    bus,
    jobs,
    events,
    snapshots,
    log: given.log,
    config,
    settings: baseConfig.get,
    rights,
    usesOf: (from, caller, ids) => {
      const deps = { ...kept.maskSettings, pools }
      return seenUses({ deps, model: datamodel.current(), rights: caller }, from, ids)
    },
    filesWithin,
    changed: (tx, ids) => requeueUsers(tx, ids, queued.raise),
    formerFiles: createFormerFiles({
      events,
      wakeIndex: queued.raise,
      policies: () => linkPolicies(janitorSettings(kept)),
    }),
    marking: createMarking({
      model: datamodel.current,
      languages,
      any: kept.anyMarks,
      masks: { ...kept.maskSettings, pools },
      readersOf: (from, userIds) => rightsOfUsers({ rights, signIn }, from, userIds),
      onGone: (users) => given.log.warn({ users }, 'captions tell nothing: whoever has set them may not act any more'),
    }),
    whoNames: rememberedPeople(principals, rights).whoNames,
    anonymous: async () => (baseConfig.get().deep_link_access.enabled ? signIn.actorOfUser(deepLinkUserId) : null),
  })
  opened.defer(() => files.close())
  const webhooks = createWebhookService({
    db,
    events,
    baseConfig,
    allowPrivate: config.allowPrivateWebhooks,
    limits: outgoingLimits(config),
    tokenFor: signIn.tokenForJob,
    places: config.jobsWebhook,
  })
  const transitions = await createTransitionService({
    db,
    seal,
    bus,
    events,
    jobs,
    snapshots,
    tags,
    rights,
    layers: {
      pools: pools.transitionLayers,
      objecttype: objecttypes.transitionLayer,
      all: () => [
        ...[...pools.snapshot().values()].flatMap((pool) => pool.transitions),
        ...[...datamodel.current().objecttypes.values()].flatMap(({ id }) => objecttypes.settings(id).transitions),
      ],
    },
    contactOf: (id) => pools.byId(id)?.contact ?? null,
    objecttypes: () => ({ has: (id) => datamodel.current().tablesById.get(id)?.kind === 'object' }),
    webhooks: webhooks.names,
    actorsOf: signIn.actorsOf,
    conventionOf,
  })
  const fileCounts = createFileCounts({ db, log: given.log, paused: () => config.readOnly })
  opened.defer(() => fileCounts.close())
  const shared = { db, seal, bus, events, rights, datamodel, pools, objecttypes, tags, transitions, conventionOf }
  const marks = {
    concerned: async (tx: Tx, scope: Parameters<typeof haveFiles>[1]) => files.drawsMarks() && haveFiles(tx, scope),
    renew: files.resyncMarks,
    hold: files.holdImages,
  }
  const objecttypeService = createObjecttypeService({ ...shared, languages, fileFigures, marks })
  const poolService = createPoolService({
    ...shared,
    marks,
    objects: { count: countInPools, fileFigures, requeue: (tx, ids) => requeuePools(tx, ids, queued.raise) },
  })
  return {
    files,
    webhooks,
    transitions,
    objecttypes: objecttypeService,
    pools: poolService,
    tags: createTagService({
      ...shared,
      uses: [...poolService.tagUses, ...objecttypeService.tagUses, objectTagUse(queued.raise), transitions.tagUse],
    }),
    presets: createPresetService({ ...shared, existingTags: tags.existing, use: objectPresetUse(queued.raise) }),
    baseConfig: createBaseConfigAdministration({
      ...shared,
      baseConfig,
      async check(tx, { actor, before, config: after, changed: sections }) {
        await files.checkSettings(tx, after, sections)
        const known = new Set(before.registration.groups.map((group) => group.group_id))
        const added = after.registration.groups.map((group) => group.group_id).filter((id) => !known.has(id))
        await requireMayJoin(tx, actor, personRights, added)
        for (const section of ['ldap', 'saml', 'openid_connect'] as const) {
          if (!isDeepStrictEqual(before[section], after[section]))
            await requireMayTrust(tx, actor, personRights, section)
        }
      },
    }),
  }
}
