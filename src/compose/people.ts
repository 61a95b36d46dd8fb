import { collectionsOfUsers, createPins, createShareMails, createShares } from '../collections/service.ts'
import { userPictures } from '../files/service.ts'
import { createMailQuota, createMailService } from '../mail/service.ts'
import { createMessageService } from '../messages/service.ts'
import { messagePart } from '../messages/sign-in.ts'
import { createOAuthServer } from '../oauth/server.ts'
import { groupsOfObjects, replaceOwner } from '../objects/upkeep/uses.ts'
import {
  createGroupService,
  createPrincipals,
  createUserJanitor,
  createUserService,
  mailRecipients,
  type UserService,
} from '../people/service.ts'
import { clientConventions } from '../platform/config/versions.ts'
import { outgoingLimits } from '../platform/outgoing/limits.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { createRightsService, presetTerms, shareUrls } from '../rights/service.ts'
import { fieldVisibilityBytes } from '../search/service.ts'
import { createSignInService } from '../signin/service.ts'
import type { Given, Ground } from './ground.ts'
import type { Readers } from './readers.ts'

export type People = ReturnType<typeof composePeople>

/** Users and groups, and their rights. */
export function composePeople(
  { config, db, log, passwordCost, loginParts = [] }: Given,
  { bus, memory, seal, jobs, queued, snapshots }: Ground,
  { baseConfig, events, datamodel, tags, objecttypes, pools, keptPlugins, readOnly, sharing }: Readers,
  opened: AsyncDisposableStack,
) {
  const principals = createPrincipals({ bus, memory, onChange: snapshots.turn })
  opened.defer(() => principals.close())
  const rights = createRightsService({
    containers: () => ({ pools: pools.grants(), objecttypes: objecttypes.grants() }),
    findPeople: principals.find,
    shares: sharing.get,
    existingTags: tags.existing,
    presets: presetTerms,
    addedSystemRights: keptPlugins.givenRights,
    maxBytes: memory.callerRights,
    derivedBytes: (count) => fieldVisibilityBytes(datamodel.current().objecttypes.size, count),
  })
  const conventionOf = clientConventions(config)
  const messages = createMessageService({ db, events, principals, conventionOf })
  /** Replaces a deleted user or group as owner of objects and pools. */
  async function replacePerson(tx: Tx, kind: 'user' | 'group', from: number, to: number): Promise<void> {
    await replaceOwner(tx, kind, from, to, queued.raise)
    await pools.replacePerson(tx, kind, from, to)
  }
  const mail = createMailService({
    db,
    seal,
    jobs,
    events,
    baseConfig,
    externalUrl: config.externalUrl,
    readers: mailRecipients,
    limits: outgoingLimits(config),
  })
  const mailQuota = createMailQuota({ db, most: config.quotaMails })
  const personRights = { ...rights, groupsOfObjects }
  const clock = () => new Date()
  const signIn = createSignInService({
    config,
    db,
    seal,
    bus,
    events,
    baseConfig,
    principals,
    rights: personRights,
    instance: () => ({ name: baseConfig.instanceTitle(), external_url: config.externalUrl }),
    jobs,
    memory,
    mail,
    ownTexts: (key) => datamodel.current().pageTexts.get(key),
    users: (): UserService => users,
    findShare: (secret) => shares.find(secret),
    loginParts: (actorOfUser) => [messagePart({ db, messages, actorOfUser }), ...loginParts],
    passwordCost,
    clock,
  })
  opened.defer(() => signIn.close())
  const { sessions } = signIn
  const records = {
    db,
    events,
    sessions,
    principals,
    rights: personRights,
    removal: {
      replaceUser: (tx: Tx, from: number, to: number) => replacePerson(tx, 'user', from, to),
      async replaceGroup(tx: Tx, from: number, to: number) {
        await replacePerson(tx, 'group', from, to)
        await messages.replaceGroup(tx, from, to)
      },
      collections: collectionsOfUsers({ events, sharing }),
    },
    conventionOf,
  }
  const shares = createShares({
    ...{ db, seal, events, principals, clock, most: config.quotaShares },
    ...{ shareUrls, externalUrl: config.externalUrl },
    accountUuids: signIn.forUsers.accountUuids,
  })
  const shareMails = createShareMails({
    ...{ mail, shareUrls, clock, mailQuota, externalUrl: config.externalUrl },
    recipients: mailRecipients,
    accountUuids: signIn.forUsers.accountUuids,
    ownTexts: signIn.ownTexts,
    instanceName: () => baseConfig.instanceTitle() || config.databaseName,
    languages: () => baseConfig.get().languages.frontend,
  })
  const pins = createPins({ db, hashes: signIn.pinHashes, clock, sharing })
  const userDeps = {
    ...records,
    ...signIn.forUsers,
    ...{ baseConfig, jobs, clock, pins, pictures: userPictures },
  }
  const users = createUserService(userDeps)
  const userJanitor = createUserJanitor({
    deps: userDeps,
    log,
    systemActor: signIn.systemActor,
    paused: readOnly,
  })
  opened.defer(() => userJanitor.close())
  const groups = createGroupService(records)
  const oauth = createOAuthServer({ config, db, baseConfig, signIn, clock })
  return {
    principals,
    rights,
    personRights,
    signIn,
    pins,
    shares,
    shareMails,
    users,
    userJanitor,
    groups,
    oauth,
    mail,
    mailQuota,
    messages,
    conventionOf,
  }
}
