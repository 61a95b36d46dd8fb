/**
 * Users and groups. A *user* may sign in and acts; *groups* give users rights, and system groups have members by user type. Users
 * and groups are the *principals* that other records refer to.
 */
export { requireMayJoin, requireMayTrust } from './configured-groups.ts'
export { principalsOfUser, reachOf } from './escalation.ts'
export { createGroupService } from './groups/service.ts'
export type {
  AccountMails,
  CollectionPinCode,
  DueMail,
  EndedSessions,
  FactorHooks,
  FactorReset,
  FreshSignIn,
  PinHooks,
  SessionHooks,
  ShownFactors,
} from './hooks.ts'
export { localeOf } from './locales.ts'
export { mailRecipients } from './mail-recipients.ts'
export { nameTaken, shadowedUsers, subject } from './names.ts'
export { createNetworks, type Networks } from './networks.ts'
export { mayPerson, noRights } from './person-rights.ts'
export {
  createPrincipals,
  type FoundPrincipals,
  type NamedBy,
  type PrincipalNames,
  type Principals,
  principalsTopic,
  type Reference,
  referenceOf,
  resolveReferences,
  type WantedPrincipals,
} from './principals.ts'
export { duplicateValue, type RemovalHooks, type RightsHooks } from './record-input.ts'
export { type LockOut, signInObstacle } from './sign-in-obstacle.ts'
export { covers, mergeSystemRights, type RightParameters } from './system-rights.ts'
export { type AccountUuids, createAccountUuids } from './users/account-uuids.ts'
export { draftUser } from './users/draft.ts'
export { inspectUsers, namesOfUsers } from './users/inspection.ts'
export { createUserJanitor } from './users/janitor.ts'
export { meetsRules, ruleHint } from './users/password-rules.ts'
export { type ReadPictures, withPictures } from './users/pictures.ts'
export { assertMayChange } from './users/policy.ts'
export { groupsOf, renderGroupSummary } from './users/render.ts'
export { createUserService, manageUsers, type UserService } from './users/service.ts'
export { linkUsers, makeSharedUsers, type NewSharedUser, type SharedUserDeps } from './users/shared.ts'
export * as users from './users/store.ts'
export { findGroupSummaries, findUsers } from './users/store.ts'
