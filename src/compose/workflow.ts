import {
  collectionMappingUse,
  collectionPresetUse,
  collectionTagUses,
  createShareCheck,
  presetUses,
  shareChecks,
} from '../collections/service.ts'
import { createBaseConfigAdministration } from '../config/administration.ts'
import { createFileService, withAdded } from '../files/service.ts'
import { checkSheets } from '../formats/service.ts'
import { checkTagsOfHarvest } from '../harvest/service.ts'
import { assertBackupFormat, manageBackups } from '../maintenance/service.ts'
import { createMappingService } from '../mappings/service.ts'
import { rememberedPeople } from '../objects/read/people.ts'
import { createFileCounts } from '../objects/upkeep/file-counts.ts'
import { createMarking, haveFiles } from '../objects/upkeep/file-marks.ts'
import { fileFigures } from '../objects/upkeep/file-stats.ts'
import { filesWithin, requeueUsers, visibleUses } from '../objects/upkeep/file-uses.ts'
import { createFormerFiles, linkPolicies } from '../objects/upkeep/former-files.ts'
import { janitorSettings } from '../objects/upkeep/janitor-policies.ts'
import { countInPools, objectPresetUse, objectTagUse, requeuePools } from '../objects/upkeep/uses.ts'
import { createObjecttypeService } from '../objecttypes/service.ts'
import type { Actor } from '../platform/actor.ts'
import { requireRight } from '../platform/http/system-right.ts'
import { createRequestLimiter } from '../platform/limits/request-limiter.ts'
import { outgoingLimits } from '../platform/outgoing/limits.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { matchesOrigin } from '../platform/values/redirect-uris.ts'
import { openPluginSettings } from '../plugins/service.ts'
import { createPoolService } from '../pools/service.ts'
import { heldLogos } from '../publish/service.ts'
import { type CallerRights, type ContainerGrants, createPresetService, type ShareOptions } from '../rights/service.ts'
import { createTagService } from '../tags/service.ts'
import { createTransitionService } from '../transitions/service.ts'
import { createWebhookService } from '../webhooks/service.ts'
import type { Given, Ground } from './ground.ts'
import type { People } from './people.ts'
import type { Readers } from './readers.ts'

export type Workflow = Awaited<ReturnType<typeof composeWorkflow>>

/** The rights of the users who may act now. */
async function rightsOfUsers(
  { rights, signIn }: Pick<People, 'rights' | 'signIn'>,
  from: Queryable,
  ids: readonly number[],
) {
  const callers = new Map<number, CallerRights>()
  for (const [id, actor] of await signIn.actorsOf(from, ids)) callers.set(id, await rights.forActor(actor))
  return callers
}

/** Settings of administrators for objects: configuration, transitions, object types, pools, tags. */
export async function composeWorkflow(
  { config, db, log }: Given,
  { bus, memory, seal, jobs, pipelined, snapshots, queued }: Ground,
  {
    baseConfig,
    datamodel,
    events,
    languages,
    objecttypes,
    pools,
    keptPlugins,
    readOnly,
    tags,
    maskSettings,
    anyMarks,
    sharing,
  }: Readers,
  { principals, rights, signIn, mail, conventionOf }: People,
  opened: AsyncDisposableStack,
) {
  const mappings = await createMappingService({
    db,
    events,
    datamodel,
    paths: config.mappingPaths,
    // Not those of heavy requests: a program that hangs must not delay searches.
    recipeRequests: createRequestLimiter({
      concurrency: config.heavyRequests,
      waitingOfCaller: config.quotaHeavyRequests,
    }),
  })
  const withRecipes = withAdded<ReturnType<typeof baseConfig.get>>()
  const files = await createFileService({
    db,
    pipelined,
    readOnly,
    seal,
    bus,
    jobs,
    events,
    snapshots,
    log,
    config,
    memory,
    settings: () => withRecipes(baseConfig.get(), keptPlugins.renditions()),
    alarm: mail.alarm,
    rights,
    usesOf: (from, caller, ids) => {
      const deps = { ...maskSettings, pools }
      return visibleUses({ deps, model: datamodel.current(), rights: caller }, from, ids)
    },
    filesWithin,
    changed: (tx, ids) => requeueUsers(tx, ids, queued.raise),
    formerFiles: createFormerFiles({
      events,
      wakeIndex: queued.raise,
      policies: () => linkPolicies(janitorSettings({ baseConfig, datamodel, objecttypes, pools })),
    }),
    marking: createMarking({
      model: datamodel.current,
      languages,
      any: anyMarks,
      masks: { ...maskSettings, pools },
      readersOf: (from, userIds) => rightsOfUsers({ rights, signIn }, from, userIds),
      onGone: (users) => log.warn({ users }, 'captions are left out: the user who has set them may not act any more'),
    }),
    whoNames: rememberedPeople(principals, rights).whoNames,
    anonymous: signIn.actorOfLinks,
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
      some: (so) =>
        pools
          .snapshot()
          .values()
          .some((pool) => pool.transitions.some(so)) ||
        datamodel
          .current()
          .objecttypes.values()
          .some(({ id }) => objecttypes.settings(id).transitions.some(so)),
      all: () => [
        ...[...pools.snapshot().values()].flatMap((pool) => pool.transitions),
        ...[...datamodel.current().objecttypes.values()].flatMap(({ id }) => objecttypes.settings(id).transitions),
      ],
    },
    contactOf: (id) => pools.byId(id)?.contact ?? null,
    objecttypes: () => ({ has: (id) => datamodel.current().tablesById.get(id)?.kind === 'object' }),
    webhooks: webhooks.names,
    callbacks: keptPlugins.transitionCallbacks,
    actorsOf: signIn.actorsOf,
    conventionOf,
  })
  const pluginSettings = await openPluginSettings({
    db,
    bus,
    snapshots,
    seal,
    plugins: keptPlugins.get,
    mayActAs: signIn.mayActAs,
  })
  const fileCounts = createFileCounts({ db, log, paused: readOnly })
  opened.defer(() => fileCounts.close())
  const requireMappings = mappings.requireUsable
  const shared = {
    db,
    seal,
    bus,
    events,
    rights,
    datamodel,
    pools,
    objecttypes,
    tags,
    transitions,
    conventionOf,
    requireMappings,
  }
  const marks = {
    concerned: async (tx: Tx, scope: Parameters<typeof haveFiles>[1]) => files.drawsMarks() && haveFiles(tx, scope),
    renew: files.resyncMarks,
    hold: files.holdImages,
  }
  const check = createShareCheck({ rights, datamodel, clock: () => new Date() })
  const later = shareChecks({ db, jobs, check })
  // The rights that an owner may pass on also depend on groups.
  sharing.onOwners(() => {
    if (readOnly()) return
    db.transaction((tx) => later.later(tx)).catch((error: unknown) =>
      log.warn({ err: error }, 'shares were not checked'),
    )
  })
  const shares = {
    settle: (tx: Tx, actor: Actor, changed: Partial<ContainerGrants>, options: ShareOptions) =>
      later.settle(tx, actor, { pools: pools.grants(), objecttypes: objecttypes.grants(), ...changed }, options),
  }
  const objecttypeService = createObjecttypeService({ ...shared, shares, languages, fileFigures, marks })
  const poolService = createPoolService({
    ...shared,
    shares,
    marks,
    objects: { count: countInPools, fileFigures, requeue: (tx, ids) => requeuePools(tx, ids, queued.raise) },
  })
  mappings.addUses([collectionMappingUse, poolService.mappingUse, objecttypeService.mappingUse])
  return {
    mappings,
    files,
    pluginSettings,
    webhooks,
    transitions,
    objecttypes: objecttypeService,
    pools: poolService,
    tags: createTagService({
      ...shared,
      uses: [
        ...poolService.tagUses,
        ...objecttypeService.tagUses,
        ...collectionTagUses,
        objectTagUse(queued.raise),
        transitions.tagUse,
      ],
    }),
    presets: createPresetService({
      ...shared,
      existingTags: tags.existing,
      use: presetUses(objectPresetUse(queued.raise), collectionPresetUse),
      mayShareAt: (address) =>
        address.origin === new URL(config.externalUrl).origin ||
        config.loginAllowRedirects.some((pattern) => matchesOrigin(pattern, address)),
    }),
    baseConfig: createBaseConfigAdministration({
      ...shared,
      baseConfig,
      plugins: pluginSettings.sections,
      files: (tx, actor) => ({
        hold: (section, held) => files.holdForSection(tx, actor, section, held),
        contents: (ids, mostBytes) => files.contentsOfSettings(tx, ids, mostBytes),
      }),
      async check(tx, { actor, before, config: after, changed: sections }) {
        await files.checkSettings(tx, after, sections)
        // Its retention removes backups.
        if (sections.has('backup_scheduler')) {
          requireRight(actor, manageBackups)
          await assertBackupFormat(tx, config, after.backup_scheduler.format)
        }
        if (sections.has('publish')) await files.holdImages(tx, actor, heldLogos(before, after))
        await signIn.checkSettings(tx, actor, before, after)
        if (sections.has('export')) await checkSheets(files, tx, actor, { before, after })
        if (sections.has('oai_pmh')) checkTagsOfHarvest(tags.snapshot(), after)
      },
    }),
  }
}
