/**
 * Approval: one question, one answer, both on the record.
 *
 * @module
 */
export {
  type ApprovalOptions,
  type ApprovalRequest,
  type Approver,
  type Question,
  requestApproval,
} from "./request.ts";
