/**
 * Approval: one question, one answer, both on the record.
 *
 * @module
 */
export type { ApprovalHooks } from "./hooks.ts";
export { effectivePolicy, type Policy, type PolicyOptions, policyText, setApprovalPolicy } from "./policy.ts";
export type { ApprovalRequest, Approver, Question } from "./question.ts";
export { type ApprovalOptions, canAsk, requestApproval } from "./request.ts";
